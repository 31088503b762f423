// against holds our CEL against Kubernetes' own (environment, schema types, cost estimate, cost tracking), expression by expression:
// error texts, value, estimated cost, actual cost.
//
// driver CEL_PIPE DIFFERS [--record]. Expressions: those of upstream's own tests of its libraries (every table entry that is named
// expr or expression in k8s.io/apiserver/pkg/cel/library/*_test.go), and those of expressions.txt, which may name `self`: object.json
// by schema.json. DIFFERS has the known differences.
package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"k8s.io/apimachinery/pkg/util/version"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
	"k8s.io/apiserver/pkg/cel/openapi"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

const program = "against"

// Sizes as apiextensions-apiserver takes them from a rule's schema.
type sizes struct{ root *apiservercel.DeclType }

func (s *sizes) EstimateSize(element checker.AstNode) *checker.SizeEstimate {
	path := element.Path()
	if len(path) == 0 || path[0] != "self" {
		return nil
	}
	at := s.root
	for _, name := range path[1:] {
		switch name {
		case "@items", "@values":
			at = at.ElemType
		case "@keys":
			at = at.KeyType
		default:
			field, ok := at.Fields[name]
			if !ok {
				return nil
			}
			at = field.Type
		}
		if at == nil {
			return nil
		}
	}
	return &checker.SizeEstimate{Min: 0, Max: uint64(at.MaxElements)}
}

func (s *sizes) EstimateCallCost(string, string, *checker.AstNode, []checker.AstNode) *checker.CallEstimate {
	return nil
}

type upstream struct {
	env  *cel.Env
	size *sizes
	self ref.Val
}

func newUpstream(schema *spec.Schema, data any) *upstream {
	decl := common.SchemaDeclType(&openapi.Schema{Schema: schema}, true).MaybeAssignTypeName("selfType")
	provider := apiservercel.NewDeclTypeProvider(decl)
	set := environment.MustBaseEnvSet(version.MajorMinor(1, 36))
	env, err := set.Env(environment.NewExpressions)
	fail(err)
	options, err := provider.EnvOptions(env.CELTypeProvider())
	fail(err)
	env, err = env.Extend(append(options, cel.Variable("self", decl.CelType()))...)
	fail(err)
	return &upstream{env, &sizes{decl}, common.UnstructuredToVal(data, &openapi.Schema{Schema: schema})}
}

func (u *upstream) ask(expression string) object {
	checked, issues := u.env.Compile(expression)
	if issues.Err() != nil {
		return object{"compile_error": issues.String()}
	}
	answer := object{"type": checker.FormatCELType(checked.OutputType())}
	estimate, err := u.env.EstimateCost(checked, &library.CostEstimator{SizeEstimator: u.size})
	fail(err)
	answer["min"], answer["max"] = fmt.Sprint(estimate.Min), fmt.Sprint(estimate.Max)
	program, err := u.env.Program(checked)
	if err != nil {
		return object{"compile_error": "program instantiation failed: " + err.Error()}
	}
	value, details, err := program.Eval(object{"self": u.self})
	if details != nil && details.ActualCost() != nil {
		answer["cost"] = fmt.Sprint(*details.ActualCost())
	}
	if err != nil {
		answer["error"] = err.Error()
	} else {
		answer["value"] = tree(value)
	}
	return answer
}

func tree(v ref.Val) any {
	switch t := v.(type) {
	case types.Null:
		return scalar("null", "")
	case types.Bool:
		return scalar("bool", fmt.Sprint(bool(t)))
	case types.Int:
		return scalar("int", fmt.Sprint(int64(t)))
	case types.Uint:
		return scalar("uint", fmt.Sprint(uint64(t)))
	case types.Double:
		return scalar("double", fmt.Sprintf("%016x", math.Float64bits(float64(t))))
	case types.String:
		return scalar("string", string(t))
	case types.Bytes:
		return scalar("bytes", base64.StdEncoding.EncodeToString(t))
	case types.Duration:
		return scalar("duration", fmt.Sprint(int64(t.Duration)))
	case types.Timestamp:
		return object{"t": "timestamp", "v": fmt.Sprint(t.Unix()), "n": float64(t.Nanosecond())}
	case *types.Type:
		return scalar("type", t.TypeName())
	case *types.Optional:
		if !t.HasValue() {
			return object{"t": "optional"}
		}
		return object{"t": "optional", "v": tree(t.GetValue())}
	case traits.Lister:
		items := []any{}
		for it := t.Iterator(); it.HasNext() == types.True; {
			items = append(items, tree(it.Next()))
		}
		return object{"t": "list", "v": items}
	case traits.Mapper:
		pairs := []any{}
		for it := t.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			if key == nil { // upstream leaves room for members that the schema does not know
				continue
			}
			pairs = append(pairs, []any{tree(key), tree(t.Get(key))})
		}
		return object{"t": "map", "v": pairs}
	case apiservercel.Quantity:
		return scalar("kubernetes.Quantity", "")
	case *apiservercel.Quantity:
		return scalar("kubernetes.Quantity", "")
	case apiservercel.IP:
		return scalar("net.IP", t.Addr.String())
	case apiservercel.CIDR:
		return scalar("net.CIDR", t.Prefix.String())
	case apiservercel.URL:
		return scalar("kubernetes.URL", t.String())
	case apiservercel.Semver:
		return scalar("kubernetes.Semver", t.String())
	}
	return scalar(v.Type().TypeName(), "")
}

// Every string of a table's `expr` or `expression` in upstream's tests.
func upstreamExpressions() []string {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/apiserver").Output()
	fail(err)
	paths, err := filepath.Glob(strings.TrimSpace(string(out)) + "/pkg/cel/library/*_test.go")
	fail(err)
	var found []string
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		fail(err)
		ast.Inspect(file, func(node ast.Node) bool {
			pair, ok := node.(*ast.KeyValueExpr)
			if !ok {
				return true
			}
			key, ok := pair.Key.(*ast.Ident)
			if !ok || !strings.HasPrefix(strings.ToLower(key.Name), "expr") {
				return true
			}
			if literal, ok := pair.Value.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				text, err := strconv.Unquote(literal.Value)
				fail(err)
				found = append(found, text)
			}
			return true
		})
	}
	return found
}

func ownExpressions() []string {
	text, err := os.ReadFile("expressions.txt")
	fail(err)
	var found []string
	for _, line := range strings.Split(string(text), "\n") {
		if line != "" && !strings.HasPrefix(line, "#") {
			found = append(found, strings.ReplaceAll(line, "\\n", "\n"))
		}
	}
	return found
}

func outcome(answer object) string {
	if answer["compile_error"] != nil {
		return "compile error " + answer["compile_error"].(string)
	}
	if answer["error"] != nil {
		return "error " + answer["error"].(string)
	}
	return canonical(answer["value"])
}

func kind(answer object) string {
	for _, name := range []string{"compile_error", "error"} {
		if answer[name] != nil {
			return name
		}
	}
	return "value"
}

func main() {
	time.Local = time.UTC
	p := open(os.Args[1])
	schemaText, err := os.ReadFile("schema.json")
	fail(err)
	objectText, err := os.ReadFile("object.json")
	fail(err)
	schema := &spec.Schema{}
	fail(json.Unmarshal(schemaText, schema))
	var plainSchema, plainObject any
	fail(json.Unmarshal(schemaText, &plainSchema))
	fail(json.Unmarshal(objectText, &plainObject))
	schema = common.WithTypeAndObjectMeta(schema)
	theirs := newUpstream(schema, whole(plainObject))
	counts := map[string]int{}
	var differs []string
	seen := map[string]bool{}
	for _, expression := range append(upstreamExpressions(), ownExpressions()...) {
		if seen[expression] {
			continue
		}
		seen[expression] = true
		counts["expressions"]++
		wanted := theirs.ask(expression)
		got := p.ask(object{"expr": expression, "library": "kubernetes", "variables": []any{
			object{"name": "self", "schema": plainSchema, "root": true, "object": plainObject}}})
		differ := func(what, w, g string) {
			if w == g {
				counts[what+" equal"]++
				return
			}
			counts[what+" different"]++
			differs = append(differs, fmt.Sprintf("%q %s: wanted %q, got %q", expression, what, w, g))
		}
		what := map[string]string{"compile_error": "compile error", "error": "run-time error", "value": "value"}[kind(wanted)]
		differ(what, outcome(wanted), outcome(got))
		if wanted["compile_error"] == nil && got["compile_error"] == nil {
			differ("type", fmt.Sprint(wanted["type"]), fmt.Sprint(got["type"]))
			differ("estimate", fmt.Sprint(wanted["min"], " to ", wanted["max"]), fmt.Sprint(got["min"], " to ", got["max"]))
			if wanted["error"] == nil {
				differ("cost", fmt.Sprint(wanted["cost"]), fmt.Sprint(got["cost"]))
			}
		}
	}
	report(counts, differs)
}

// Whole numbers as the API server's decoder has them.
func whole(v any) any {
	switch t := v.(type) {
	case map[string]any:
		for k, e := range t {
			t[k] = whole(e)
		}
	case []any:
		for i, e := range t {
			t[i] = whole(e)
		}
	case float64:
		if t == math.Trunc(t) {
			return int64(t)
		}
	}
	return v
}

func report(counts map[string]int, differs []string) {
	status := held(differs)
	names := []string{}
	for name := range counts {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		fmt.Printf("%s: %d\n", name, counts[name])
	}
	fmt.Printf("against Kubernetes' CEL: %d expressions, %d differences (recorded)\n", counts["expressions"], len(differs))
	os.Exit(status)
}
