// The other end of merge_pipe.cpp: tests/smd/run puts this file into a scratch copy of structured-merge-diff, where it
// takes the place of merge.Updater's Update and Apply. What they did becomes a line to our process; our process asks
// back what only the tests know (conversions between versions, filters), and answers with managers and object.
package merge

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

type remote struct {
	mutex   sync.Mutex
	in      io.Writer
	out     *bufio.Reader
	schemas map[*schema.Schema]string
	byID    map[string]*schema.Schema
	Calls   int
}

var (
	pipe *remote
	once sync.Once
)

func start() *remote {
	once.Do(func() {
		command := exec.Command(os.Getenv("SUBLET_MERGE_PIPE"))
		command.Stderr = os.Stderr
		in, err := command.StdinPipe()
		if err != nil {
			panic(err)
		}
		out, err := command.StdoutPipe()
		if err != nil {
			panic(err)
		}
		if err := command.Start(); err != nil {
			panic(err)
		}
		pipe = &remote{in: in, out: bufio.NewReader(out), schemas: map[*schema.Schema]string{}, byID: map[string]*schema.Schema{}}
	})
	return pipe
}

type object map[string]interface{}

func (r *remote) send(message interface{}) {
	line, err := json.Marshal(message)
	if err != nil {
		panic(err)
	}
	if _, err := r.in.Write(append(line, '\n')); err != nil {
		panic(err)
	}
}

func (r *remote) receive() map[string]json.RawMessage {
	line, err := r.out.ReadBytes('\n')
	if err != nil {
		panic(fmt.Sprintf("merge_pipe ended: %v", err))
	}
	message := map[string]json.RawMessage{}
	if err := json.Unmarshal(line, &message); err != nil {
		panic(err)
	}
	return message
}

func atom(a schema.Atom) object {
	out := object{}
	if a.Scalar != nil {
		out["scalar"] = string(*a.Scalar)
	}
	if a.List != nil {
		out["list"] = object{"item": ref(a.List.ElementType), "relationship": a.List.ElementRelationship, "keys": a.List.Keys}
	}
	if a.Map != nil {
		fields := []object{}
		for _, f := range a.Map.Fields {
			field := object{"name": f.Name, "type": ref(f.Type)}
			if f.Default != nil {
				field["default"] = f.Default
			}
			fields = append(fields, field)
		}
		out["map"] = object{"fields": fields, "element": ref(a.Map.ElementType), "relationship": a.Map.ElementRelationship}
	}
	return out
}

func ref(tr schema.TypeRef) object {
	out := object{}
	switch {
	case tr.NamedType != nil:
		out["named"] = *tr.NamedType
	case tr.Inlined != (schema.Atom{}):
		out["inlined"] = atom(tr.Inlined)
	default:
		return out
	}
	if tr.ElementRelationship != nil {
		out["relationship"] = string(*tr.ElementRelationship)
	}
	return out
}

func (r *remote) schemaID(s *schema.Schema) string {
	if id, ok := r.schemas[s]; ok {
		return id
	}
	id := fmt.Sprint(len(r.schemas))
	r.schemas[s], r.byID[id] = id, s
	types := []object{}
	for _, t := range s.Types {
		definition := atom(t.Atom)
		definition["name"] = t.Name
		types = append(types, definition)
	}
	r.send(object{"op": "schema", "id": id, "types": types})
	return id
}

func plain(v interface{}) interface{} {
	switch t := v.(type) {
	case map[interface{}]interface{}:
		out := map[string]interface{}{}
		for k, item := range t {
			out[fmt.Sprint(k)] = plain(item)
		}
		return out
	case map[string]interface{}:
		out := map[string]interface{}{}
		for k, item := range t {
			out[k] = plain(item)
		}
		return out
	case []interface{}:
		out := make([]interface{}, len(t))
		for i, item := range t {
			out[i] = plain(item)
		}
		return out
	}
	return v
}

func (r *remote) typed(tv *typed.TypedValue) object {
	out := object{"schema": r.schemaID(tv.Schema()), "type": ref(tv.TypeRef())}
	if tv.AsValue() != nil {
		out["value"] = plain(tv.AsValue().Unstructured())
	}
	return out
}

func numbers(v interface{}) interface{} {
	switch t := v.(type) {
	case map[string]interface{}:
		for k, item := range t {
			t[k] = numbers(item)
		}
	case []interface{}:
		for i, item := range t {
			t[i] = numbers(item)
		}
	case json.Number:
		if i, err := t.Int64(); err == nil && !strings.ContainsAny(t.String(), ".eE") {
			return int(i) // as YAML gives the tests theirs
		}
		f, _ := t.Float64()
		return f
	}
	return v
}

func (r *remote) untyped(message json.RawMessage, types map[string]schema.TypeRef) *typed.TypedValue {
	parts := struct {
		Schema string
		Type   json.RawMessage
		Value  json.RawMessage
	}{}
	if err := json.Unmarshal(message, &parts); err != nil {
		panic(err)
	}
	var v interface{}
	if len(parts.Value) > 0 {
		decoder := json.NewDecoder(bytes.NewReader(parts.Value))
		decoder.UseNumber()
		if err := decoder.Decode(&v); err != nil {
			panic(err)
		}
	}
	tr := schema.TypeRef{}
	named := struct{ Named string }{}
	_ = json.Unmarshal(parts.Type, &named)
	if named.Named == "" {
		panic("only objects of named types come back")
	}
	tr.NamedType = &named.Named
	return typed.AsTypedUnvalidated(value.NewValueInterface(numbers(v)), r.byID[parts.Schema], tr)
}

func fieldsV1(set *fieldpath.Set) json.RawMessage {
	out, err := set.ToJSON()
	if err != nil {
		panic(err)
	}
	return out
}

func setOf(message json.RawMessage) *fieldpath.Set {
	set := &fieldpath.Set{}
	if err := set.FromJSON(bytes.NewReader(message)); err != nil {
		panic(err)
	}
	return set
}

func (s *Updater) filterSet(set *fieldpath.Set, version fieldpath.APIVersion) *fieldpath.Set {
	if s.IgnoredFields != nil {
		if ignored := s.IgnoredFields[version]; ignored != nil {
			return set.RecursiveDifference(ignored)
		}
		return set
	}
	if filter := s.IgnoreFilter[version]; filter != nil {
		return filter.Filter(set)
	}
	return set
}

// reply answers what our process asks, until it answers itself.
func (s *Updater) reply(r *remote) map[string]json.RawMessage {
	for {
		message := r.receive()
		if asked, ok := message["convert"]; ok {
			question := struct {
				Object  json.RawMessage
				Version string
			}{}
			if err := json.Unmarshal(asked, &question); err != nil {
				panic(err)
			}
			converted, err := s.Converter.Convert(r.untyped(question.Object, nil), fieldpath.APIVersion(question.Version))
			switch {
			case err != nil && s.Converter.IsMissingVersionError(err):
				r.send(object{"missing": true})
			case err != nil:
				r.send(object{"error": err.Error()})
			default:
				r.send(object{"object": r.typed(converted)})
			}
			continue
		}
		if asked, ok := message["filter"]; ok {
			question := struct {
				Fields  json.RawMessage
				Version string
			}{}
			if err := json.Unmarshal(asked, &question); err != nil {
				panic(err)
			}
			r.send(object{"fields": fieldsV1(s.filterSet(setOf(question.Fields), fieldpath.APIVersion(question.Version)))})
			continue
		}
		return message
	}
}

func (s *Updater) ask(op string, live, second *typed.TypedValue, version fieldpath.APIVersion, managers fieldpath.ManagedFields, manager string, force bool) (*typed.TypedValue, fieldpath.ManagedFields, error) {
	if s.IgnoredFields != nil && s.IgnoreFilter != nil {
		return nil, nil, fmt.Errorf("IgnoreFilter and IgnoreFilter may not both be set")
	}
	r := start()
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.Calls++
	owned := object{}
	for name, set := range managers {
		owned[name] = object{"fields": fieldsV1(set.Set()), "version": set.APIVersion(), "applied": set.Applied()}
	}
	r.send(object{"op": op, "live": r.typed(live), "object": r.typed(second), "version": version,
		"managers": owned, "manager": manager, "force": force})
	message := s.reply(r)
	if failure, ok := message["error"]; ok {
		var text string
		_ = json.Unmarshal(failure, &text)
		return nil, fieldpath.ManagedFields{}, errors.New(text)
	}
	if found, ok := message["conflicts"]; ok {
		sets := map[string]json.RawMessage{}
		_ = json.Unmarshal(found, &sets)
		conflicts := fieldpath.ManagedFields{}
		for name, fields := range sets {
			conflicts[name] = fieldpath.NewVersionedSet(setOf(fields), version, false)
		}
		return nil, fieldpath.ManagedFields{}, ConflictsFromManagers(conflicts)
	}
	entries := map[string]struct {
		Fields  json.RawMessage
		Version string
		Applied bool
	}{}
	if err := json.Unmarshal(message["managers"], &entries); err != nil {
		panic(err)
	}
	result := fieldpath.ManagedFields{}
	for name, entry := range entries {
		result[name] = fieldpath.NewVersionedSet(setOf(entry.Fields), fieldpath.APIVersion(entry.Version), entry.Applied)
	}
	if made, ok := message["object"]; ok {
		return r.untyped(made, nil), result, nil
	}
	return nil, result, nil
}

// Update takes the place of upstream's.
func (s *Updater) Update(liveObject, newObject *typed.TypedValue, version fieldpath.APIVersion, managers fieldpath.ManagedFields, manager string) (*typed.TypedValue, fieldpath.ManagedFields, error) {
	_, result, err := s.ask("update", liveObject, newObject, version, managers, manager, true)
	if err != nil {
		return nil, fieldpath.ManagedFields{}, err
	}
	return newObject, result, nil
}

// Apply takes the place of upstream's.
func (s *Updater) Apply(liveObject, configObject *typed.TypedValue, version fieldpath.APIVersion, managers fieldpath.ManagedFields, manager string, force bool) (*typed.TypedValue, fieldpath.ManagedFields, error) {
	made, result, err := s.ask("apply", liveObject, configObject, version, managers, manager, force)
	if err == nil && made == nil && s.returnInputOnNoop {
		made = liveObject
	}
	return made, result, err
}
