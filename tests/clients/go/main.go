// The steps of the matrix in Go: `main client-go` with client-go, `main controller-runtime` with a manager of
// controller-runtime. The second has no exec, logs or port-forward of its own.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/client-go/util/exec"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const namespace, pod = "default", "client-pod"

var script = []string{"sh", "-c", "echo out; echo err >&2; exit 3"}

type step struct {
	name     string
	needsPod bool
	run      func(context.Context) error
}

func equal(what string, actual, wanted any) error {
	if actual != wanted {
		return fmt.Errorf("%s is %q, wanted %q", what, actual, wanted)
	}
	return nil
}

func configMap(name, value string) *core.ConfigMap {
	return &core.ConfigMap{
		TypeMeta:   meta.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: meta.ObjectMeta{Name: name, Namespace: namespace, Labels: map[string]string{"client": name}},
		Data:       map[string]string{"k": value},
	}
}

// --- client-go ---

type goClient struct {
	config *rest.Config
	api    *kubernetes.Clientset
	name   string
}

func (c *goClient) steps() []step {
	return []step{
		{"list", false, c.list}, {"patch", false, c.patch}, {"watch", false, c.watch},
		{"exec over WebSocket", true, func(ctx context.Context) error { return c.exec(ctx, true) }},
		{"exec over SPDY", true, func(ctx context.Context) error { return c.exec(ctx, false) }},
		{"logs", true, c.logs},
		{"port-forward over WebSocket", true, func(ctx context.Context) error { return c.forward(ctx, true) }},
		{"port-forward over SPDY", true, func(ctx context.Context) error { return c.forward(ctx, false) }},
	}
}

func (c *goClient) list(ctx context.Context) error {
	all, err := c.api.CoreV1().Namespaces().List(ctx, meta.ListOptions{})
	if err != nil {
		return err
	}
	for _, item := range all.Items {
		if item.Name == namespace {
			return nil
		}
	}
	return errors.New("the namespace default is missing")
}

func (c *goClient) patch(ctx context.Context) error {
	maps := c.api.CoreV1().ConfigMaps(namespace)
	if err := maps.Delete(ctx, c.name, meta.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	if _, err := maps.Create(ctx, configMap(c.name, "one"), meta.CreateOptions{}); err != nil {
		return err
	}
	bodies := map[types.PatchType]string{
		types.StrategicMergePatchType: `{"data":{"k":"strategic"}}`,
		types.MergePatchType:          `{"data":{"k":"merge"}}`,
		types.JSONPatchType:           `[{"op":"replace","path":"/data/k","value":"json"}]`,
	}
	for kind, body := range bodies {
		changed, err := maps.Patch(ctx, c.name, kind, []byte(body), meta.PatchOptions{})
		if err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
		if !strings.Contains(body, changed.Data["k"]) {
			return fmt.Errorf("%s gave %q", kind, changed.Data["k"])
		}
	}
	force := true
	applied, err := maps.Patch(ctx, c.name, types.ApplyPatchType,
		[]byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"`+c.name+`"},"data":{"k":"applied"}}`),
		meta.PatchOptions{FieldManager: "m", Force: &force})
	if err != nil {
		return err
	}
	return equal("an apply", applied.Data["k"], "applied")
}

func (c *goClient) watch(ctx context.Context) error {
	maps := c.api.CoreV1().ConfigMaps(namespace)
	events, err := maps.Watch(ctx, meta.ListOptions{LabelSelector: "client=" + c.name, AllowWatchBookmarks: true})
	if err != nil {
		return err
	}
	defer events.Stop()
	seen := ""
	for event := range events.ResultChan() {
		found, ok := event.Object.(*core.ConfigMap)
		if !ok {
			return fmt.Errorf("an event of %T", event.Object)
		}
		seen += string(event.Type) + "=" + found.Data["k"] + " "
		if strings.Count(seen, " ") == 2 {
			break
		}
		if _, err := maps.Patch(ctx, c.name, types.MergePatchType, []byte(`{"data":{"k":"watched"}}`), meta.PatchOptions{}); err != nil {
			return err
		}
	}
	return equal("the events", seen, "ADDED=applied MODIFIED=watched ")
}

func (c *goClient) exec(ctx context.Context, overWebSocket bool) error {
	request := c.api.CoreV1().RESTClient().Post().Resource("pods").Name(pod).Namespace(namespace).SubResource("exec").
		VersionedParams(&core.PodExecOptions{Command: script, Stdout: true, Stderr: true}, scheme.ParameterCodec)
	executor, err := remotecommand.NewSPDYExecutor(c.config, http.MethodPost, request.URL())
	if overWebSocket {
		executor, err = remotecommand.NewWebSocketExecutor(c.config, http.MethodGet, request.URL().String())
	}
	if err != nil {
		return err
	}
	var out, errs bytes.Buffer
	err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: &out, Stderr: &errs})
	var exit exec.CodeExitError
	if !errors.As(err, &exit) || exit.Code != 3 {
		return fmt.Errorf("the exit code is wrong: %v", err)
	}
	if err := equal("standard output", out.String(), "out\n"); err != nil {
		return err
	}
	return equal("standard error", errs.String(), "err\n")
}

func (c *goClient) logs(ctx context.Context) error {
	tail := int64(2)
	text, err := c.api.CoreV1().Pods(namespace).GetLogs(pod, &core.PodLogOptions{TailLines: &tail}).DoRaw(ctx)
	if err != nil {
		return err
	}
	if err := equal("the log", string(text), "line-1\nline-2\n"); err != nil {
		return err
	}
	stream, err := c.api.CoreV1().Pods(namespace).GetLogs(pod, &core.PodLogOptions{TailLines: &tail, Follow: true}).Stream(ctx)
	if err != nil {
		return err
	}
	defer stream.Close()
	first := make([]byte, 7)
	if _, err := io.ReadFull(stream, first); err != nil {
		return err
	}
	return equal("the log that is followed", string(first), "line-1\n")
}

func (c *goClient) forward(ctx context.Context, overWebSocket bool) error {
	url := c.api.CoreV1().RESTClient().Post().Resource("pods").Name(pod).Namespace(namespace).SubResource("portforward").URL()
	transport, upgrader, err := spdy.RoundTripperFor(c.config)
	if err != nil {
		return err
	}
	dialer := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, url)
	if overWebSocket {
		if dialer, err = portforward.NewSPDYOverWebsocketDialer(url, c.config); err != nil {
			return err
		}
	}
	stop, ready := make(chan struct{}), make(chan struct{})
	forwarder, err := portforward.New(dialer, []string{"0:80"}, stop, ready, io.Discard, io.Discard)
	if err != nil {
		return err
	}
	failed := make(chan error, 1)
	go func() { failed <- forwarder.ForwardPorts() }()
	defer close(stop)
	select {
	case <-ready:
	case err := <-failed:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
	ports, err := forwarder.GetPorts()
	if err != nil {
		return err
	}
	answer, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/path", ports[0].Local))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if !strings.Contains(string(body), "GET /path") {
		return fmt.Errorf("the answer is %q", body)
	}
	return nil
}

// --- controller-runtime ---

type runtimeClient struct {
	config *rest.Config
	name   string
}

func (c *runtimeClient) steps() []step {
	return []step{{"list, patch and watch of a manager", false, c.reconcile}}
}

// A controller that copies data.k of a ConfigMap into its annotation.
func (c *runtimeClient) reconcile(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	manager, err := ctrl.NewManager(c.config, ctrl.Options{
		Metrics: server.Options{BindAddress: "0"},
		Cache:   cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
	})
	if err != nil {
		return err
	}
	api := manager.GetClient()
	key := types.NamespacedName{Namespace: namespace, Name: c.name}
	copier := reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
		var found core.ConfigMap
		if err := api.Get(ctx, request.NamespacedName, &found); request.NamespacedName != key || err != nil {
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
		changed := found.DeepCopy()
		changed.Annotations = map[string]string{"copied": found.Data["k"]}
		return reconcile.Result{}, api.Patch(ctx, changed, client.MergeFrom(&found))
	})
	if err := ctrl.NewControllerManagedBy(manager).For(&core.ConfigMap{}).Complete(copier); err != nil {
		return err
	}
	failed := make(chan error, 1)
	go func() { failed <- manager.Start(ctx) }()
	direct, err := client.New(c.config, client.Options{})
	if err != nil {
		return err
	}
	if err := client.IgnoreNotFound(direct.Delete(ctx, configMap(c.name, ""))); err != nil {
		return err
	}
	if err := direct.Create(ctx, configMap(c.name, "one")); err != nil {
		return err
	}
	ticks := time.NewTicker(100 * time.Millisecond)
	defer ticks.Stop()
	for {
		select {
		case err := <-failed:
			return fmt.Errorf("the manager ended: %w", err)
		case <-ctx.Done():
			return errors.New("the controller did not write the annotation in time")
		case <-ticks.C:
		}
		var found core.ConfigMap
		if err := direct.Get(ctx, key, &found); err != nil {
			return err
		}
		if found.Annotations["copied"] == "one" {
			return nil
		}
	}
}

func main() {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		fmt.Println("FAILED: kubeconfig:", err)
		os.Exit(1)
	}
	var steps []step
	switch which := os.Args[len(os.Args)-1]; which {
	case "client-go":
		steps = (&goClient{config, kubernetes.NewForConfigOrDie(config), "client-go"}).steps()
	case "controller-runtime":
		steps = (&runtimeClient{config, "client-controller-runtime"}).steps()
	default:
		fmt.Printf("usage: %s client-go|controller-runtime\n", os.Args[0])
		os.Exit(2)
	}
	failures := 0
	for _, each := range steps {
		if each.needsPod && os.Getenv("CLIENTS_API_ONLY") != "" {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
		if err := each.run(ctx); err != nil {
			fmt.Printf("FAILED: %s: %v\n", each.name, err)
			failures++
		} else {
			fmt.Printf("ok: %s\n", each.name)
		}
		cancel()
	}
	if failures > 0 {
		os.Exit(1)
	}
}
