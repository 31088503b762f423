import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.LocalPortForward;
import io.fabric8.kubernetes.client.Watcher;
import io.fabric8.kubernetes.client.WatcherException;
import io.fabric8.kubernetes.client.dsl.ExecWatch;
import io.fabric8.kubernetes.client.dsl.LogWatch;
import io.fabric8.kubernetes.client.dsl.PodResource;
import io.fabric8.kubernetes.client.dsl.Resource;
import io.fabric8.kubernetes.client.dsl.base.PatchContext;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Arrays;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** The steps of the matrix with fabric8's kubernetes-client. */
public final class Client {
  private static final String NAMESPACE = "default", POD = "client-pod", NAME = "client-java";
  private static final boolean HAS_PODS = System.getenv().getOrDefault("CLIENTS_API_ONLY", "").isEmpty();
  private static int failed = 0;

  private interface Step {
    void run(KubernetesClient client) throws Exception;
  }

  public static void main(String[] arguments) {
    try (KubernetesClient client = new KubernetesClientBuilder().build()) {
      run(client, "list", false, Client::list);
      run(client, "patch", false, Client::patch);
      run(client, "watch", false, Client::watch);
      run(client, "exec", true, Client::exec);
      run(client, "exec with input", true, Client::execWithInput);
      run(client, "logs", true, Client::logs);
      run(client, "port-forward", true, Client::forwardPort);
    }
    System.exit(failed > 0 ? 1 : 0);
  }

  private static void run(KubernetesClient client, String name, boolean needsPods, Step step) {
    if (needsPods && !HAS_PODS) return;
    try {
      step.run(client);
      System.out.println("ok: " + name);
    } catch (Exception | AssertionError error) {
      failed++;
      System.out.println("FAILED: " + name + ": " + error);
    }
  }

  private static void equal(String what, Object actual, Object wanted) {
    if (!Objects.equals(actual, wanted))
      throw new AssertionError(what + " is '" + actual + "', wanted '" + wanted + "'");
  }

  private static Resource<ConfigMap> configMap(KubernetesClient client) {
    return client.configMaps().inNamespace(NAMESPACE).withName(NAME);
  }

  private static void list(KubernetesClient client) {
    equal("default in the namespaces",
        client.namespaces().list().getItems().stream().anyMatch(n -> n.getMetadata().getName().equals(NAMESPACE)), true);
  }

  private static void patch(KubernetesClient client) {
    configMap(client).delete();
    ConfigMap made = new ConfigMapBuilder().withNewMetadata().withName(NAME).withNamespace(NAMESPACE)
        .addToLabels("client", NAME).endMetadata().withData(Map.of("k", "one")).build();
    client.resource(made).create();
    for (Map.Entry<PatchType, String> each : Map.of(
        PatchType.JSON_MERGE, "{\"data\":{\"k\":\"JSON_MERGE\"}}",
        PatchType.STRATEGIC_MERGE, "{\"data\":{\"k\":\"STRATEGIC_MERGE\"}}",
        PatchType.JSON, "[{\"op\":\"replace\",\"path\":\"/data/k\",\"value\":\"JSON\"}]").entrySet())
      equal("the value", configMap(client).patch(PatchContext.of(each.getKey()), each.getValue()).getData().get("k"),
          each.getKey().toString());
    made.setData(Map.of("k", "applied"));
    equal("an apply", client.resource(made).forceConflicts().serverSideApply().getData().get("k"), "applied");
  }

  private static void watch(KubernetesClient client) throws Exception {
    BlockingQueue<String> seen = new LinkedBlockingQueue<>();
    Watcher<ConfigMap> watcher = new Watcher<>() {
      @Override
      public void eventReceived(Action action, ConfigMap found) {
        seen.add(action + "=" + found.getData().get("k"));
      }

      @Override
      public void onClose(WatcherException cause) {
        seen.add("closed: " + cause);
      }
    };
    try (var watch = client.configMaps().inNamespace(NAMESPACE).withLabel("client", NAME).watch(watcher)) {
      equal("the first event", seen.poll(30, TimeUnit.SECONDS), "ADDED=applied");
      configMap(client).patch(PatchContext.of(PatchType.JSON_MERGE), "{\"data\":{\"k\":\"watched\"}}");
      equal("the second event", seen.poll(30, TimeUnit.SECONDS), "MODIFIED=watched");
    }
  }

  private static PodResource pod(KubernetesClient client) {
    return client.pods().inNamespace(NAMESPACE).withName(POD);
  }

  private static void exec(KubernetesClient client) throws Exception {
    ByteArrayOutputStream out = new ByteArrayOutputStream(), errors = new ByteArrayOutputStream();
    try (ExecWatch session = pod(client).writingOutput(out).writingError(errors)
        .exec("sh", "-c", "echo out; echo err >&2; exit 3")) {
      equal("the exit code", session.exitCode().get(30, TimeUnit.SECONDS), 3);
    }
    equal("standard output", out.toString(), "out\n");
    equal("standard error", errors.toString(), "err\n");
  }

  private static void execWithInput(KubernetesClient client) throws Exception {
    try (ExecWatch session = pod(client).redirectingInput().redirectingOutput().exec("cat")) {
      session.getInput().write("live\n".getBytes());
      session.getInput().flush();
      equal("what cat sends back", new BufferedReader(new InputStreamReader(session.getOutput())).readLine(), "live");
    }
  }

  private static void logs(KubernetesClient client) throws Exception {
    equal("the log", Arrays.asList(pod(client).tailingLines(2).getLog().split("\n")), Arrays.asList("line-1", "line-2"));
    try (LogWatch followed = pod(client).tailingLines(2).watchLog()) {
      equal("the log that is followed", new BufferedReader(new InputStreamReader(followed.getOutput())).readLine(), "line-1");
    }
  }

  private static void forwardPort(KubernetesClient client) throws Exception {
    try (LocalPortForward forward = pod(client).portForward(80)) {
      HttpRequest request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + forward.getLocalPort() + "/path")).build();
      String answer = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString()).body();
      equal("the answer", answer.contains("GET /path"), true);
    }
  }
}
