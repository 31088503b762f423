"""What cannot be read from upstream's sources, as data. Each row says why it is here."""

# Go types that are scalars of the table, however they are built inside.
SPECIAL_SCALARS = {
    "k8s.io/apimachinery/pkg/api/resource.Quantity": "quantity",
    "k8s.io/apimachinery/pkg/util/intstr.IntOrString": "int_or_string",
    "k8s.io/apimachinery/pkg/apis/meta/v1.Time": "time",
    "k8s.io/apimachinery/pkg/apis/meta/v1.MicroTime": "micro_time",
    "k8s.io/apimachinery/pkg/apis/meta/v1.Duration": "duration",
    "k8s.io/apimachinery/pkg/apis/meta/v1.FieldsV1": "fields_v1",
    "k8s.io/apimachinery/pkg/runtime.RawExtension": "raw_extension",
    "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSON": "json",
}

# Structs of CRD schemas with two JSON forms, a schema or something simpler. Their payload type is JSONSchemaProps.
SCHEMA_OR = {
    "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrArray": "schema_or_array",
    "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrBool": "schema_or_bool",
    "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrStringArray": "schema_or_strings",
}
SCHEMA_PROPS = "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaProps"

GO_SCALARS = {
    "string": "string",
    "bool": "boolean",
    "int32": "int32",
    "int64": "int64",
    "float64": "floating",
    "interface{}": "json",
}

# How each scalar is written in the .proto files; checked for every field.
PROTO_TYPES = {
    "string": "string",
    "boolean": "bool",
    "int32": "int32",
    "int64": "int64",
    "floating": "double",
    "bytes": "bytes",
    "quantity": "k8s.io.apimachinery.pkg.api.resource.Quantity",
    "int_or_string": "k8s.io.apimachinery.pkg.util.intstr.IntOrString",
    "time": "k8s.io.apimachinery.pkg.apis.meta.v1.Time",
    "micro_time": "k8s.io.apimachinery.pkg.apis.meta.v1.MicroTime",
    "duration": "k8s.io.apimachinery.pkg.apis.meta.v1.Duration",
    "fields_v1": "k8s.io.apimachinery.pkg.apis.meta.v1.FieldsV1",
    "raw_extension": "k8s.io.apimachinery.pkg.runtime.RawExtension",
    "json": "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1.JSON",
    "schema_or_array": "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray",
    "schema_or_bool": "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool",
    "schema_or_strings": "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray",
}

META = "k8s.io/apimachinery/pkg/apis/meta/v1"
META_BETA = "k8s.io/apimachinery/pkg/apis/meta/v1beta1"

# Upstream registers these in every group version (metav1.AddToGroupVersion) ...
KINDS_OF_EVERY_GROUP = ("CreateOptions", "DeleteOptions", "GetOptions", "ListOptions", "PatchOptions", "UpdateOptions",
                        "WatchEvent")
# ... and these once, as kinds without a group of their own.
UNVERSIONED_KINDS = ("APIGroup", "APIGroupList", "APIResourceList", "APIVersions", "Status")
# (version, kind, import path) of meta.k8s.io.
META_KINDS = (
    ("v1", "PartialObjectMetadata", META),
    ("v1", "PartialObjectMetadataList", META),
    ("v1", "Table", META),
    ("v1", "TableOptions", META),
    ("v1beta1", "PartialObjectMetadata", META),
    ("v1beta1", "PartialObjectMetadataList", META_BETA),
    ("v1beta1", "Table", META),
)

# Group versions that serve no resource of their own but whose bodies travel: webhook reviews, aggregated discovery,
# and evictions from clients of before 1.22. None: every kind of the package.
UNSERVED_PACKAGES = (
    ("admission.k8s.io", "v1", None),
    ("apidiscovery.k8s.io", "v2", None),
    ("apidiscovery.k8s.io", "v2beta1", None),
    ("policy", "v1beta1", ("Eviction",)),
)

# Groups whose package is not k8s.io/api/<something>/<version>.
GROUP_PACKAGES = {
    "apiextensions.k8s.io": "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions",
    "apiregistration.k8s.io": "k8s.io/kube-aggregator/pkg/apis/apiregistration",
}
