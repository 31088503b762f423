// The steps of the matrix with @kubernetes/client-node.
import net from 'node:net';
import { PassThrough, Writable } from 'node:stream';
import * as k8s from '@kubernetes/client-node';

const namespace = 'default', pod = 'client-pod', name = 'client-javascript';
const config = new k8s.KubeConfig();
config.loadFromDefault();
const core = config.makeApiClient(k8s.CoreV1Api);
const script = ['sh', '-c', 'echo out; echo err >&2; exit 3'];

function equal(what, actual, wanted) {
  if (JSON.stringify(actual) !== JSON.stringify(wanted))
    throw new Error(`${what} is ${JSON.stringify(actual)}, wanted ${JSON.stringify(wanted)}`);
}
const configMap = (value) => ({ metadata: { name, labels: { client: name } }, data: { k: value } });
const patched = (body, strategy) =>
  core.patchNamespacedConfigMap({ name, namespace, body }, k8s.setHeaderOptions('Content-Type', strategy));

class Collector extends Writable {
  text = '';
  waiting = [];
  _write(chunk, _encoding, done) {
    this.text += chunk.toString();
    this.waiting = this.waiting.filter(({ wanted, resolve }) => !(this.text.includes(wanted) && (resolve(), true)));
    done();
  }
  until(wanted) {
    return this.text.includes(wanted) ? Promise.resolve()
      : new Promise((resolve) => this.waiting.push({ wanted, resolve }));
  }
}

async function listObjects() {
  const names = (await core.listNamespace({ watch: false })).items.map((item) => item.metadata.name);
  equal('default in the namespaces', names.includes('default'), true);
}

async function createAndPatch() {
  await core.deleteNamespacedConfigMap({ name, namespace }).catch((error) => equal('the status', error.code, 404));
  await core.createNamespacedConfigMap({ namespace, body: configMap('one') });
  const { MergePatch, JsonPatch } = k8s.PatchStrategy;
  equal('a merge', (await patched({ data: { k: 'two' } }, MergePatch)).data, { k: 'two' });
  equal('a JSON patch', (await patched([{ op: 'replace', path: '/data/k', value: 'applied' }], JsonPatch)).data,
    { k: 'applied' });
}

async function watchObjects() {
  const seen = [];
  let request;
  await new Promise((resolve, reject) => {
    const changed = (type, object) => {
      seen.push([type, object.data.k]);
      if (seen.length === 2) resolve();
      else patched({ data: { k: 'watched' } }, k8s.PatchStrategy.MergePatch).catch(reject);
    };
    const ended = (error) => reject(error ?? new Error('the watch ended'));
    const path = `/api/v1/namespaces/${namespace}/configmaps`;
    request = new k8s.Watch(config).watch(path, { labelSelector: `client=${name}` }, changed, ended);
    request.catch(reject);
  });
  (await request).abort();
  equal('the events', seen, [['ADDED', 'applied'], ['MODIFIED', 'watched']]);
}

// Runs a command; `input` is a stream or null. Resolves with the exit status object.
async function execute(command, out, errors, input, begun = () => {}) {
  return new Promise((resolve, reject) => {
    new k8s.Exec(config).exec(namespace, pod, 'main', command, out, errors, input, false, resolve)
      .then(begun, reject);
  });
}

async function runCommand() {
  const out = new Collector(), errors = new Collector();
  const status = await execute(script, out, errors, null);
  equal('standard output', out.text, 'out\n');
  equal('standard error', errors.text, 'err\n');
  equal('the exit code', status.details.causes[0].message, '3');
}

async function runCommandWithInput() {
  const out = new Collector(), input = new PassThrough();
  let socket;
  execute(['cat'], out, new Collector(), input, (made) => { socket = made; input.write('live\n'); }).catch(() => {});
  await out.until('live\n');
  socket.close();
}

async function logs() {
  const text = await core.readNamespacedPodLog({ name: pod, namespace, tailLines: 2, follow: false });
  equal('the log', text.trim().split('\n'), ['line-1', 'line-2']);
  const out = new Collector();
  const request = await new k8s.Log(config).log(namespace, pod, 'main', out, { follow: true, tailLines: 2 });
  await out.until('line-2\n');
  request.abort();
}

async function forwardPort() {
  const forward = new k8s.PortForward(config);
  const server = net.createServer((socket) => forward.portForward(namespace, pod, [80], socket, null, socket));
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const answer = await fetch(`http://127.0.0.1:${server.address().port}/path`);
  equal('the answer', (await answer.text()).includes('GET /path'), true);
  server.close();
}

const steps = [[listObjects, false], [createAndPatch, false], [watchObjects, false], [runCommand, true],
  [runCommandWithInput, true], [logs, true], [forwardPort, true]];
let failed = 0;
for (const [step, needsPods] of steps) {
  if (needsPods && process.env.CLIENTS_API_ONLY) continue;
  try {
    await step();
    console.log(`ok: ${step.name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED: ${step.name}: ${error.message ?? error}`);
    if (process.env.CLIENTS_VERBOSE) console.error(error);
  }
}
process.exit(failed ? 1 : 0);
