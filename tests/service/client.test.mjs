// Run by test_javascript.py with BANDITS_URL and BANDITS_TOKEN of a real server.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";

import { BanditsError, Client, Study } from "causal-bandits-client";

const address = process.env.BANDITS_URL;
const token = process.env.BANDITS_TOKEN;
const problem = {
  target: "purchase",
  observed: { clicked: 2, cart: ["empty", "full"] },
  interventions: { banner: ["none", "red"], boxes: [1, 2] },
};

test("ask, tell by id and by key, read", async () => {
  const client = new Client(address, { token });
  const study = await client.create("shop & more/öä", problem, { seed: 1, control_share: 0.2 });
  assert.ok(study instanceof Study);
  await client.create("shop & more/öä", problem, { seed: 1, control_share: 0.2 });
  assert.deepEqual((await client.studies()).map((each) => each.name), ["shop & more/öä"]);

  const first = await study.ask();
  assert.equal(first.id, 1);
  assert.deepEqual(Object.keys(first.arm).sort(), ["banner", "boxes"]);
  assert.equal(typeof first.arm.boxes, "number");
  await study.tell({ decision: first, mediators: { clicked: 1 } });
  await study.tell({ decision: 1, mediators: { cart: "full" }, reward: 1 });
  await study.tell({ decision: 1, mediators: { cart: "full" }, reward: 1 });
  assert.deepEqual((await study.decision(1)).outcome, { clicked: 1, cart: "full", purchase: 1 });

  const mine = await study.ask({ key: "visitor-42" });
  assert.deepEqual((await study.ask({ key: "visitor-42" })).id, mine.id);
  await study.tell({ key: "visitor-42", mediators: { clicked: 0, cart: "empty" }, reward: 0 });
  assert.equal((await study.decision(mine.id)).status, "told");

  const many = await study.askMany(3, { arms: [{ banner: "red" }] });
  assert.deepEqual(many.map((each) => each.arm.banner), ["red", "red", "red"]);
  const rows = many.slice(0, 2).map(({ id }) => ({ id, clicked: 1, cart: "empty", purchase: 0 }));
  assert.equal(await study.tellMany(rows), 2);
  assert.equal(await study.tellMany(rows), 0);
  await study.abandon(many[2].id);
  assert.equal((await study.decision(many[2].id)).status, "abandoned");
  assert.equal((await study.get("estimates", { level: 0.9 })).length, 4);
  assert.ok(Array.isArray(await study.get("health")));
  assert.deepEqual(await study.get("alarms"), []);
  assert.ok("arm" in (await study.recommendation()));
});

test("errors have the sentence, the status and the name of the exception", async () => {
  const client = new Client(address, { token });
  const absent = client.study("absent");
  await assert.rejects(absent.ask(), (error) => {
    assert.ok(error instanceof BanditsError);
    assert.deepEqual([error.status, error.error], [404, "UnknownStudyError"]);
    assert.match(error.message, /there is no study 'absent'/);
    return true;
  });
  const study = await client.create("errors", problem, { seed: 1 });
  const { id } = await study.ask();
  await study.tell({ decision: id, mediators: { clicked: 1 } });
  await assert.rejects(study.tell({ decision: id, mediators: { clicked: 0 } }), { status: 409, error: "ConflictError" });
  await assert.rejects(study.tell({ key: "nobody", reward: 1 }), { status: 404 });
  await assert.rejects(study.tell({ decision: id, key: "both" }), TypeError);
  await assert.rejects(study.tell({}), TypeError);
  await assert.rejects(new Client(address, { token: "wrong" }).studies(), { status: 401 });
  assert.throws(() => new Client("bandits.example.com"), TypeError);
  assert.throws(() => client.study(""), TypeError);
});

test("what can be repeated is repeated, and nothing else", async () => {
  const seen = [];
  const failing = createServer((request, response) => {
    seen.push(request.method);
    response.writeHead(seen.length < 3 ? 503 : 200, { "Content-Type": "application/json" });
    response.end(JSON.stringify(seen.length < 3 ? { detail: "later" } : [{ id: 1, arm: {}, time: "", segment: null }]));
  });
  await new Promise((resolve) => failing.listen(0, "127.0.0.1", resolve));
  const client = new Client(`http://127.0.0.1:${failing.address().port}/prefix/`);
  try {
    assert.equal((await client.study("s").ask({ key: "v" })).id, 1);
    assert.equal(seen.length, 3);
    seen.length = 0;
    await assert.rejects(client.study("s").ask(), { status: 503, message: "later" });
    assert.equal(seen.length, 1);
  } finally {
    failing.closeAllConnections();
    failing.close();
  }
  const impatient = new Client(`http://127.0.0.1:${failing.address()?.port ?? 9}`, { retries: 0 });
  await assert.rejects(impatient.studies(), (error) => error.status === 0 && /cannot be reached/.test(error.message));
});

test("a server that hangs and a caller that gives up end the wait", async () => {
  const hanging = createServer(() => {});
  await new Promise((resolve) => hanging.listen(0, "127.0.0.1", resolve));
  const at = `http://127.0.0.1:${hanging.address().port}`;
  try {
    await assert.rejects(new Client(at, { timeout: 50, retries: 1 }).studies(), /no answer in time/);
    const signal = AbortSignal.abort();
    await assert.rejects(new Client(at).study("s").ask({ key: "v", signal }), { status: 0 });
  } finally {
    hanging.closeAllConnections();
    hanging.close();
  }
});

test("the server serves this very module", async () => {
  const answer = await fetch(`${address}/static/causal-bandits.js`);
  assert.equal(answer.status, 200);
  assert.match(answer.headers.get("content-type"), /^text\/javascript/);
  const served = await import(`data:text/javascript,${encodeURIComponent(await answer.text())}`);
  assert.equal(served.Client.name, "Client");
  const types = await fetch(`${address}/static/causal-bandits.d.ts`);
  assert.match(types.headers.get("content-type"), /^application\/typescript/);
});
