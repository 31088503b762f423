// Makes fixtures.jsonl: every pod of upstream's fixtures (k8s.io/pod-security-admission, test/testdata), where it stands there,
// and what upstream's own library says of it at both levels in every version. Pods of two fixtures each come on top, for
// messages that count. The first line has everything that upstream ever says, as [reason, detail]; then one line per distinct pod:
//
//	{"pod": {...}, "files": {"baseline/pass": [[0,18],[31,35]]}, "verdicts": {"baseline": [[0,3,7], [19]]}}
//
// files: the versions v1.x whose folder has it, from-to; verdicts: from which v1.x on upstream says what, by its place in the
// first line.
//
//	cd tests/podsecurity && GOFLAGS=-mod=mod go run . > fixtures.jsonl
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/yaml"
)

const newest = 36

type line struct {
	Pod      json.RawMessage     `json:"pod"`
	Files    map[string][][2]int `json:"files,omitempty"`
	Verdicts map[string][][]int  `json:"verdicts"`
	parsed   corev1.Pod
	minors   map[string][]int
}

// What was ever said, and where it stands in the first line.
var said [][2]string
var places = map[[2]string]int{}

func place(reason, detail string) int {
	key := [2]string{reason, detail}
	at, known := places[key]
	if !known {
		at = len(said)
		places[key] = at
		said = append(said, key)
	}
	return at
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// The pod without what Go's form of it adds.
func text(pod *corev1.Pod) json.RawMessage {
	raw, err := json.Marshal(pod)
	must(err)
	for _, noise := range []string{`,"resources":{}`, `,"status":{}`, `"kind":"Pod","apiVersion":"v1",`} {
		raw = bytes.ReplaceAll(raw, []byte(noise), nil)
	}
	return raw
}

func verdicts(evaluator policy.Evaluator, pod *corev1.Pod) map[string][][]int {
	all := map[string][][]int{}
	for _, level := range []api.Level{api.LevelBaseline, api.LevelRestricted} {
		for minor := 0; minor <= newest+1; minor++ {
			version := api.MajorMinorVersion(1, minor)
			if minor > newest {
				version = api.LatestVersion()
			}
			verdict := []int{minor}
			for _, result := range evaluator.EvaluatePod(api.LevelVersion{Level: level, Version: version}, &pod.ObjectMeta, &pod.Spec) {
				if !result.Allowed {
					verdict = append(verdict, place(result.ForbiddenReason, result.ForbiddenDetail))
				}
			}
			list := all[string(level)]
			if len(list) == 0 || !slices.Equal(list[len(list)-1][1:], verdict[1:]) {
				all[string(level)] = append(list, verdict)
			}
		}
	}
	return all
}

func ranges(minors []int) [][2]int {
	sort.Ints(minors)
	var all [][2]int
	for _, minor := range minors {
		if last := len(all) - 1; last >= 0 && all[last][1] == minor-1 {
			all[last][1] = minor
		} else {
			all = append(all, [2]int{minor, minor})
		}
	}
	return all
}

// Both pods in one: the second's containers and volumes beside the first's, its first container as an ephemeral one.
func both(one, other *corev1.Pod) *corev1.Pod {
	pod := one.DeepCopy()
	pod.Name = one.Name + "-" + other.Name
	for i, container := range other.Spec.Containers {
		container.Name = fmt.Sprintf("other%d", i)
		pod.Spec.Containers = append(pod.Spec.Containers, container)
		if i == 0 {
			container.Name = "ephemeral"
			pod.Spec.EphemeralContainers = append(pod.Spec.EphemeralContainers,
				corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon(container)})
		}
	}
	for i, volume := range other.Spec.Volumes {
		volume.Name = fmt.Sprintf("other%d", i)
		pod.Spec.Volumes = append(pod.Spec.Volumes, volume)
	}
	for key, value := range other.Annotations {
		if pod.Annotations == nil {
			pod.Annotations = map[string]string{}
		}
		if strings.HasPrefix(key, "container.") {
			key = key[:strings.LastIndex(key, "/")+1] + "other0"
		}
		pod.Annotations[key] = value
	}
	return pod
}

func main() {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/pod-security-admission").Output()
	must(err)
	root := filepath.Join(strings.TrimSpace(string(out)), "test", "testdata")
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	must(err)
	folder := regexp.MustCompile(`^(\w+)/v1\.(\d+)/(pass|fail)/`)
	lines := map[string]*line{}
	must(filepath.Walk(root, func(path string, info os.FileInfo, err error) error {
		must(err)
		relative, _ := filepath.Rel(root, path)
		found := folder.FindStringSubmatch(relative)
		if info.IsDir() || found == nil {
			return nil
		}
		data, err := os.ReadFile(path)
		must(err)
		var pod corev1.Pod
		must(yaml.Unmarshal(data, &pod))
		raw := text(&pod)
		entry := lines[string(raw)]
		if entry == nil {
			entry = &line{Pod: raw, Files: map[string][][2]int{}, parsed: pod, minors: map[string][]int{}}
			lines[string(raw)] = entry
		}
		minor, _ := strconv.Atoi(found[2])
		key := found[1] + "/" + found[3]
		entry.minors[key] = append(entry.minors[key], minor)
		return nil
	}))
	var keys []string
	for key := range lines {
		keys = append(keys, key)
	}
	sort.Slice(keys, func(i, j int) bool {
		if a, b := lines[keys[i]].parsed.Name, lines[keys[j]].parsed.Name; a != b {
			return a < b
		}
		return keys[i] < keys[j]
	})
	var all []*line
	for i, key := range keys {
		entry := lines[key]
		for name, minors := range entry.minors {
			entry.Files[name] = ranges(minors)
		}
		entry.Verdicts = verdicts(evaluator, &entry.parsed)
		all = append(all, entry)
		if i%4 == 0 { // a neighbour is mostly of the same control, one farther away of another
			pod := both(&entry.parsed, &lines[keys[(i+1+i%8/4*96)%len(keys)]].parsed)
			all = append(all, &line{Pod: text(pod), Verdicts: verdicts(evaluator, pod)})
		}
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	must(encoder.Encode(said))
	for _, entry := range all {
		must(encoder.Encode(entry))
	}
}
