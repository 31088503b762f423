// The part that both programs have (tests/cel/run builds each with it): our CEL behind a pipe, and values as cel_pipe writes them.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"sort"
	"strings"
)

type object = map[string]any

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, program+":", err)
		os.Exit(1)
	}
}

type pipe struct {
	in  *bufio.Writer
	out *bufio.Reader
}

func open(path string) *pipe {
	command := exec.Command(path)
	in, err := command.StdinPipe()
	fail(err)
	out, err := command.StdoutPipe()
	fail(err)
	command.Stderr = os.Stderr
	fail(command.Start())
	return &pipe{bufio.NewWriter(in), bufio.NewReaderSize(out, 1<<20)}
}

func (p *pipe) ask(request object) object {
	line, err := json.Marshal(request)
	fail(err)
	_, err = p.in.Write(append(line, '\n'))
	fail(err)
	fail(p.in.Flush())
	reply, err := p.out.ReadBytes('\n')
	fail(err)
	answer := object{}
	fail(json.Unmarshal(reply, &answer))
	return answer
}

func scalar(kind, text string) object { return object{"t": kind, "v": text} }

// A text that is the same for equal values: entries of maps sorted, all NaN alike; of what has no text of its own the type.
func canonical(v any) string {
	o, ok := v.(object)
	if !ok {
		return fmt.Sprint(v)
	}
	switch o["t"] {
	case "list":
		var items []string
		for _, item := range o["v"].([]any) {
			items = append(items, canonical(item))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case "map":
		var entries []string
		for _, pair := range o["v"].([]any) {
			p := pair.([]any)
			entries = append(entries, canonical(p[0])+": "+canonical(p[1]))
		}
		sort.Strings(entries)
		return "{" + strings.Join(entries, ", ") + "}"
	case "double":
		var bits uint64
		fmt.Sscanf(o["v"].(string), "%x", &bits)
		return fmt.Sprintf("double %v", math.Float64frombits(bits))
	case "timestamp":
		return fmt.Sprintf("timestamp %v.%v", o["v"], o["n"])
	case "kubernetes.Quantity", "kubernetes.Semver", "kubernetes.NamedFormat", "kubernetes.URL":
		return fmt.Sprint(o["t"])
	}
	return fmt.Sprintf("%v %v", o["t"], canonical(o["v"]))
}

// held holds what differs against the file DIFFERS (with --record: writes it); 1 when they are not the same.
func held(differs []string) int {
	if os.Args[3] == "--record" {
		fail(os.WriteFile(os.Args[2], []byte(strings.Join(differs, "\n")+"\n"), 0o644))
	}
	recorded, err := os.ReadFile(os.Args[2])
	fail(err)
	known := map[string]bool{}
	for _, line := range strings.Split(strings.TrimSpace(string(recorded)), "\n") {
		known[line] = line != ""
	}
	status := 0
	for _, line := range differs {
		if !known[line] {
			fmt.Println("differs, not recorded: " + line)
			status = 1
		}
		delete(known, line)
	}
	for line, there := range known {
		if there {
			fmt.Println("recorded, differs no more: " + line)
			status = 1
		}
	}
	return status
}
