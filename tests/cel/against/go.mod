module sublet.dev/tests/cel/against

go 1.25.0

require (
	github.com/google/cel-go v0.26.0
	k8s.io/apimachinery v0.36.3
	k8s.io/apiserver v0.36.3
	k8s.io/kube-openapi v0.0.0-20260317180543-43fb72c5454a
)
