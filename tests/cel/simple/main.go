// simple runs cel.dev/expr's simple tests (tests/simple/testdata/*.textproto) through cel_pipe.
//
// driver CEL_PIPE DIFFERS [--record]: counts, the tests that were not run with their reasons, and those whose outcome is not what
// the file DIFFERS has ("file/section/name: what came").
package main

import (
	"encoding/base64"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"

	"cel.dev/expr"
	testpb "cel.dev/expr/conformance/test"

	_ "cel.dev/expr/conformance/proto2"
	_ "cel.dev/expr/conformance/proto3"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

const program = "simple"

type unsupported struct{ reason string }

func cannot(reason string) { panic(unsupported{reason}) }

func typeTree(t *expr.Type) object {
	switch k := t.GetTypeKind().(type) {
	case *expr.Type_Dyn:
		return object{"k": "dyn"}
	case *expr.Type_Null:
		return object{"k": "null_type"}
	case *expr.Type_Primitive:
		name := map[expr.Type_PrimitiveType]string{expr.Type_BOOL: "bool", expr.Type_INT64: "int", expr.Type_UINT64: "uint",
			expr.Type_DOUBLE: "double", expr.Type_STRING: "string", expr.Type_BYTES: "bytes"}[k.Primitive]
		return object{"k": name}
	case *expr.Type_WellKnown:
		switch k.WellKnown {
		case expr.Type_DURATION:
			return object{"k": "google.protobuf.Duration"}
		case expr.Type_TIMESTAMP:
			return object{"k": "google.protobuf.Timestamp"}
		}
		cannot("protobuf: google.protobuf.Any")
	case *expr.Type_ListType_:
		return object{"k": "list", "p": []any{typeTree(k.ListType.GetElemType())}}
	case *expr.Type_MapType_:
		return object{"k": "map", "p": []any{typeTree(k.MapType.GetKeyType()), typeTree(k.MapType.GetValueType())}}
	case *expr.Type_AbstractType_:
		if k.AbstractType.GetName() == "optional_type" {
			return object{"k": "optional_type", "p": []any{typeTree(k.AbstractType.GetParameterTypes()[0])}}
		}
	case *expr.Type_MessageType:
		cannot("protobuf: messages")
	case *expr.Type_Wrapper:
		cannot("protobuf: wrapper types")
	case *expr.Type_Type:
		return object{"k": "type"}
	}
	cannot("a type of no kind that can be declared")
	return nil
}

func typeText(t *expr.Type) string {
	switch k := t.GetTypeKind().(type) {
	case *expr.Type_Dyn:
		return "dyn"
	case *expr.Type_Null:
		return "null"
	case *expr.Type_Error:
		return "!error!"
	case *expr.Type_Primitive:
		return typeTree(t)["k"].(string)
	case *expr.Type_WellKnown:
		return map[expr.Type_WellKnownType]string{expr.Type_DURATION: "duration", expr.Type_TIMESTAMP: "timestamp", expr.Type_ANY: "any"}[k.WellKnown]
	case *expr.Type_ListType_:
		return "list(" + typeText(k.ListType.GetElemType()) + ")"
	case *expr.Type_MapType_:
		return "map(" + typeText(k.MapType.GetKeyType()) + ", " + typeText(k.MapType.GetValueType()) + ")"
	case *expr.Type_AbstractType_:
		var parts []string
		for _, p := range k.AbstractType.GetParameterTypes() {
			parts = append(parts, typeText(p))
		}
		return k.AbstractType.GetName() + "(" + strings.Join(parts, ", ") + ")"
	case *expr.Type_Type:
		if k.Type.GetTypeKind() == nil {
			return "type"
		}
		return "type(" + typeText(k.Type) + ")"
	}
	cannot("protobuf: messages")
	return ""
}

func value(v *expr.Value) object {
	switch k := v.GetKind().(type) {
	case *expr.Value_NullValue:
		return scalar("null", "")
	case *expr.Value_BoolValue:
		return scalar("bool", fmt.Sprint(k.BoolValue))
	case *expr.Value_Int64Value:
		return scalar("int", fmt.Sprint(k.Int64Value))
	case *expr.Value_Uint64Value:
		return scalar("uint", fmt.Sprint(k.Uint64Value))
	case *expr.Value_DoubleValue:
		return scalar("double", fmt.Sprintf("%016x", math.Float64bits(k.DoubleValue)))
	case *expr.Value_StringValue:
		return scalar("string", k.StringValue)
	case *expr.Value_BytesValue:
		return scalar("bytes", base64.StdEncoding.EncodeToString(k.BytesValue))
	case *expr.Value_TypeValue:
		return scalar("type", k.TypeValue)
	case *expr.Value_ListValue:
		items := []any{}
		for _, item := range k.ListValue.GetValues() {
			items = append(items, value(item))
		}
		return object{"t": "list", "v": items}
	case *expr.Value_MapValue:
		pairs := []any{}
		for _, entry := range k.MapValue.GetEntries() {
			pairs = append(pairs, []any{value(entry.GetKey()), value(entry.GetValue())})
		}
		return object{"t": "map", "v": pairs}
	case *expr.Value_EnumValue:
		cannot("protobuf: enums")
	case *expr.Value_ObjectValue:
		message, err := k.ObjectValue.UnmarshalNew()
		fail(err)
		switch m := message.(type) {
		case *durationpb.Duration:
			return scalar("duration", fmt.Sprint(m.GetSeconds()*1e9+int64(m.GetNanos())))
		case *timestamppb.Timestamp:
			return object{"t": "timestamp", "v": fmt.Sprint(m.GetSeconds()), "n": m.GetNanos()}
		}
		cannot("protobuf: messages")
	}
	cannot("a value of no kind")
	return nil
}

// Words in an expression that only protobuf has.
var protobuf = []string{"Int32Value", "UInt32Value", "FloatValue", "TestRequired", "Value{", "TestAllTypes", "google.protobuf.", "proto.getExt", "proto.hasExt", "NestedTestAllTypes", "GlobalEnum"}

// The request for a test and the text of what it expects.
func prepare(test *testpb.SimpleTest) (request object, check func(object) string) {
	for _, word := range protobuf {
		if strings.Contains(test.GetExpr(), word) && test.GetExpr() != "google.protobuf.Timestamp" && test.GetExpr() != "google.protobuf.Duration" {
			cannot("protobuf: " + strings.TrimRight(word, ".{"))
		}
	}
	switch {
	case strings.Contains(test.GetExpr(), "cel.block") || strings.Contains(test.GetExpr(), "cel.index") || strings.Contains(test.GetExpr(), "cel.iterVar"):
		cannot("cel.block(): the form that an optimizer writes")
	case test.GetDisableMacros():
		cannot("macros switched off")
	case test.GetLocale() != "" && test.GetLocale() != "en_US":
		cannot("locale " + test.GetLocale())
	}
	variables := []any{}
	for _, decl := range test.GetTypeEnv() {
		if decl.GetIdent() == nil {
			cannot("declared functions")
		}
		variable := object{"name": decl.GetName(), "type": typeTree(decl.GetIdent().GetType())}
		if bound, found := test.GetBindings()[decl.GetName()]; found {
			if bound.GetValue() == nil {
				cannot("unknown or failing variables")
			}
			variable["value"] = value(bound.GetValue())
		}
		variables = append(variables, variable)
	}
	request = object{"expr": test.GetExpr(), "library": "standard", "container": test.GetContainer(), "variables": variables}
	wanted := func(v *expr.Value) func(object) string {
		text := canonical(value(v))
		return func(answer object) string {
			if answer["value"] == nil || canonical(answer["value"]) != text {
				return "wanted " + text
			}
			return ""
		}
	}
	switch m := test.GetResultMatcher().(type) {
	case nil:
		return request, wanted(&expr.Value{Kind: &expr.Value_BoolValue{BoolValue: true}})
	case *testpb.SimpleTest_Value:
		return request, wanted(m.Value)
	case *testpb.SimpleTest_TypedResult:
		deduced := typeText(m.TypedResult.GetDeducedType())
		inner := func(object) string { return "" }
		if m.TypedResult.GetResult() != nil && !test.GetCheckOnly() {
			inner = wanted(m.TypedResult.GetResult())
		}
		return request, func(answer object) string {
			if answer["type"] != deduced {
				return "wanted type " + deduced
			}
			return inner(answer)
		}
	case *testpb.SimpleTest_EvalError, *testpb.SimpleTest_AnyEvalErrors:
		return request, func(answer object) string {
			if answer["error"] != nil || answer["compile_error"] != nil {
				return ""
			}
			return "wanted an error"
		}
	}
	cannot("unknown results")
	return nil, nil
}

func outcome(answer object) string {
	for _, name := range []string{"compile_error", "error"} {
		if answer[name] != nil {
			return name + " " + strings.SplitN(answer[name].(string), "\n", 2)[0]
		}
	}
	return fmt.Sprintf("%s of type %v", canonical(answer["value"]), answer["type"])
}

func run(p *pipe, test *testpb.SimpleTest) (problem, skipped string) {
	defer func() {
		if thrown := recover(); thrown != nil {
			reason, ok := thrown.(unsupported)
			if !ok {
				panic(thrown)
			}
			skipped = reason.reason
		}
	}()
	request, check := prepare(test)
	answer := p.ask(request)
	if problem = check(answer); problem != "" {
		problem += ", got " + outcome(answer)
	}
	return problem, ""
}

func main() {
	p := open(os.Args[1])
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "cel.dev/expr").Output()
	fail(err)
	paths, err := filepath.Glob(strings.TrimSpace(string(out)) + "/tests/simple/testdata/*.textproto")
	fail(err)
	passed := 0
	differs := []string{}
	skipped := map[string][]string{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		fail(err)
		file := &testpb.SimpleTestFile{}
		fail(prototext.Unmarshal(text, file))
		for _, section := range file.GetSection() {
			for _, test := range section.GetTest() {
				name := file.GetName() + "/" + section.GetName() + "/" + test.GetName()
				problem, reason := run(p, test)
				switch {
				case reason != "":
					skipped[reason] = append(skipped[reason], name)
				case problem != "":
					differs = append(differs, name+": "+problem)
				default:
					passed++
				}
			}
		}
	}
	report(passed, differs, skipped)
}

func report(passed int, differs []string, skipped map[string][]string) {
	reasons := []string{}
	total := 0
	for reason, names := range skipped {
		reasons = append(reasons, reason)
		total += len(names)
	}
	sort.Strings(reasons)
	for _, reason := range reasons {
		fmt.Printf("not run, %s: %d\n", reason, len(skipped[reason]))
		for _, name := range skipped[reason] {
			fmt.Println("  " + name)
		}
	}
	status := held(differs)
	fmt.Printf("cel.dev/expr simple tests: %d passed, %d failed (recorded), %d not run\n", passed, len(differs), total)
	os.Exit(status)
}
