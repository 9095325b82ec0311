// client.mjs LOG UID (stdio COMMAND ARG... | http URL TOKEN): uses every part of the server, and fails where it does not do as told.
import assert from "node:assert/strict";
import { appendFileSync } from "node:fs";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";

const [log, uid, way, ...rest] = process.argv.slice(2);
const session = `home/${uid}/agent/coder/session/decimal`;
const packURI = `ctxfs:///${session}/context/pack.md`;

function transport() {
  if (way === "stdio") return new StdioClientTransport({ command: rest[0], args: rest.slice(1) });
  return new StreamableHTTPClientTransport(new URL(rest[0]), { requestInit: { headers: { Authorization: `Bearer ${rest[1]}` } } });
}

const client = new Client({ name: "test", version: "1" });
await client.connect(transport());
const text = (result) => result.content.map((c) => c.text).join("\n");
const call = async (name, args) => {
  const result = await client.callTool({ name, arguments: args });
  assert(!result.isError, `${name}: ${text(result)}`);
  return text(result);
};
const refused = async (name, args, why) => {
  const result = await client.callTool({ name, arguments: args });
  assert(result.isError && text(result).includes(why), `${name} ${JSON.stringify(args)}: ${text(result)}`);
};

// tools
const tools = (await client.listTools()).tools.map((t) => t.name).sort();
assert.deepEqual(tools, ["append", "history", "open", "pack", "recall", "sessions"]);
const listed = JSON.parse(await call("sessions", {})).sessions;
assert(listed.some((s) => s.session === session && s.name === "coder/decimal"), JSON.stringify(listed));
const whole = await call("pack", { session: "coder/decimal" });
const small = await call("pack", { session: "coder", budget: 400, query: "what of the EXPORT/BUG?" });
assert(whole.startsWith("# Context pack of coder/decimal") && whole.includes("EXPORT-BUG") && small.length < whole.length);
assert((await call("recall", { session: "coder/decimal", question: "export bug" })).includes("# Recall"));
assert((await call("history", { session, limit: 1 })).includes("EXPORT-BUG") || way === "http");
assert((await call("history", { session, from: 1, limit: 2 })).includes("records 1 to 2 of"));
assert((await call("open", { session, ref: "messages:1-2" })).length > 10);
await call("append", { session: "coder/decimal", records: [{ role: "assistant", content: "said by way of mcp" }] });
assert((await call("history", { session, limit: 1 })).includes("said by way of mcp"));
await call("append", { session: `coder/new-${way}`, create: true, records: [{ role: "user", content: "a" }, { role: "assistant", content: "b" }] });
assert((await call("history", { session: `coder/new-${way}` })).includes("records 1 to 2 of 2"));
await refused("append", { session: "coder/none", records: [{ role: "user", content: "a" }] }, "no such session");
await refused("append", { session: "coder/decimal", records: [] }, "no records");
await refused("pack", { session, budget: 5 }, "from 100 to");
await refused("pack", { session, budget: -1 }, "from 100 to");
await refused("pack", { session, target: "boss" }, "one of model, tool, reviewer, user");
await refused("pack", { session: "coder/none" }, "coder/decimal");
await refused("recall", { session, question: "bug", max_tokens: 1 }, "from 100 to 100000");
await refused("history", { session, limit: -1 }, "from 1 to 1000");
const found = await call("recall", { session: "coder/long", question: "export bug" });
assert(found.length < 20000 && /more records match\n\nmessages:\d+/.test(found), `${found.length} bytes: ${found.slice(-300)}`);
assert((await call("recall", { session: "coder/long", question: "export bug", max_tokens: 500 })).length < 2500);
const first = await call("open", { session: "coder/long", ref: "messages:1-50" });
const next = /go on with offset (\d+)$/.exec(first);
assert(first.length < 20000 && next, `${first.length} bytes: ${first.slice(-100)}`);
assert((await call("open", { session: "coder/long", ref: "messages:1-50", offset: +next[1] })).length > 1000);
const newest = await call("history", { session: "coder/long", limit: 200 });
assert(newest.length < 20000 && newest.includes("of 200; earlier ones with from"), `${newest.length} bytes: ${newest.slice(-100)}`);
assert((await call("pack", { session: "coder/long" })).length < 40000);
await assert.rejects(client.callTool({ name: "nope", arguments: {} })); // an unknown tool is an error of the protocol
for (const t of (await client.listTools()).tools) assert(/Call it/.test(t.description), `${t.name}: ${t.description}`);
await refused("pack", { session: "../../etc" }, "no such session");
await refused("pack", { session: "home/0/../../etc/passwd/x/y" }, "no such session");
await refused("open", { session, ref: "messages:999999" }, "has no");
await refused("recall", { session, question: "x".repeat(300) }, "too long");

// resources
const resources = (await client.listResources()).resources;
assert(resources.some((r) => r.uri === packURI), JSON.stringify(resources));
const { resourceTemplates } = await client.listResourceTemplates();
assert(resourceTemplates.length >= 4);
const pack = (await client.readResource({ uri: packURI })).contents[0];
assert(pack.mimeType === "text/markdown" && pack.text.startsWith("# Context pack"));
const at = (await client.readResource({ uri: `ctxfs:///${session}/context/pack@500.md` })).contents[0];
assert(at.text.startsWith("# Context pack"));
const recalled = (await client.readResource({ uri: `ctxfs:///${session}/context/recall/${encodeURIComponent("export bug?")}` })).contents[0];
assert(recalled.text.includes("# Recall"));
assert((await client.readResource({ uri: `ctxfs:///${session}/messages.jsonl` })).contents[0].mimeType === "application/x-ndjson");
assert(JSON.parse((await client.readResource({ uri: "ctxfs:///sessions" })).contents[0].text).length >= 2);
for (const uri of ["ctxfs:///../etc/passwd", "ctxfs:///home/../../etc/passwd", "ctxfs:////etc/passwd", "ctxfs:///nothing/there", "file:///etc/passwd"]) {
  await assert.rejects(client.readResource({ uri }), undefined, uri);
}

// a subscription tells of what somebody else appends
const updated = new Promise((resolve) => client.setNotificationHandler(ResourceUpdatedNotificationSchema, (n) => resolve(n.params.uri)));
await client.subscribeResource({ uri: packURI });
await new Promise((resolve) => setTimeout(resolve, 50));
appendFileSync(log, JSON.stringify({ role: "user", content: "by hand" }) + "\n");
assert.equal(await updated, packURI);
await client.unsubscribeResource({ uri: packURI });

// prompts
assert.deepEqual((await client.listPrompts()).prompts.map((p) => p.name).sort(), ["continue", "recall"]);
const go = await client.getPrompt({ name: "continue", arguments: { session: "coder/decimal", budget: "600" } });
assert(go.messages[1].content.resource.text.startsWith("# Context pack"));
const ask = await client.getPrompt({ name: "recall", arguments: { session: "coder/decimal", question: "export bug" } });
assert(ask.messages[1].content.resource.text.includes("# Recall"));
await assert.rejects(client.getPrompt({ name: "continue", arguments: { session: "coder/decimal", budget: "many" } }));
const completed = await client.complete({ ref: { type: "ref/prompt", name: "continue" }, argument: { name: "session", value: "coder/d" } });
assert.deepEqual(completed.completion.values, ["coder/decimal"]);

// others do not get in
if (way === "http") {
  for (const headers of [{}, { Authorization: "Bearer wrong" }, { Authorization: `Bearer ${rest[1]}`, Origin: "http://evil.example", "Sec-Fetch-Site": "cross-site" }]) {
    const answer = await fetch(rest[0], { method: "POST", headers: { "Content-Type": "application/json", ...headers }, body: "{}" });
    assert([401, 403].includes(answer.status), `${JSON.stringify(headers)}: ${answer.status}`);
  }
}
await client.close();
console.log(`${way}: all as it should be`);
