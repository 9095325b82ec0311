#!/usr/bin/env node
// An agent on a session of ctxfs, in Node alone.
//
//     agent.mjs ask SESSION TEXT       one turn: TEXT is asked, a tool is called, the answer is printed
//     agent.mjs append SESSION LINE    appends a line as it is
//     agent.mjs follow SESSION         prints what is said, until the session's state is done
//
// SESSION is a folder in the mount, and is made if it is not there. docs/agents.md explains it.
import { appendFileSync, mkdirSync, openSync, readFileSync, readSync, writeFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';

const advice = { // what to do about a line that was refused; docs/faq.md has all
  EINVAL: 'it is not one JSON object; mend it, and append it again',
  EFBIG: 'it is too long; store the bytes elsewhere and name them',
  ENOSPC: 'the disk is full; nothing of it is in the log, try again later',
  EDQUOT: 'your quota is used up; nothing of it is in the log, try again later',
  ENOTCONN: 'the daemon is gone; mount again, and append it again',
};

// Appends a line to the log. When it returns, the line is in the log.
const append = (session, line) => appendFileSync(`${session}/messages.jsonl`, line + '\n');

const say = (session, role, ...content) => append(session, JSON.stringify({ role, content }));

const put = (session, name, text) => writeFileSync(`${session}/${name}`, text + '\n');

const read = (session, name) => readFileSync(`${session}/${name}`, 'utf8');

// What the model is to see: pack.md. pack.json tells the same to programs.
function window(session) {
  const about = JSON.parse(read(session, 'context/pack.json'));
  console.error(`pack: ${about.tokens} of ${about.budget_tokens} tokens, ${about.omitted.length} left out`);
  return read(session, 'context/pack.md');
}

// Stands for a model: asks for the tool, and answers once the newest record is a result. Put the call of yours here.
async function model(pack) {
  const newest = pack.split('\n[').at(-1);
  if (!newest.split(']')[0].includes(' tool, result of ')) {
    return { type: 'tool_use', id: `call-${process.hrtime.bigint()}`, name: 'count_lines', input: { file: 'messages.jsonl' } };
  }
  return { type: 'text', text: `The log had ${newest.split('\n')[1]} lines.` };
}

const countLines = (session, file) => String(read(session, file).split('\n').length - 1);

async function ask(session, text) {
  put(session, 'state', 'active');
  say(session, 'user', { type: 'text', text });
  for (let round = 1; ; round++) {
    if (round > 8) {
      put(session, 'state', 'error');
      console.error('agent: no answer after 8 calls');
      process.exit(1);
    }
    const said = await model(window(session));
    say(session, 'assistant', said);
    if (said.type === 'text') break;
    say(session, 'tool', { type: 'tool_result', tool_use_id: said.id, content: countLines(session, said.input.file) });
  }
  put(session, 'state', 'idle');
  console.log(read(session, 'latest.md').trimEnd());
}

async function follow(session) {
  const log = openSync(`${session}/messages.jsonl`);
  const buffer = Buffer.alloc(1 << 16);
  let rest = Buffer.alloc(0); // of a line that is longer than what was read
  for (;;) {
    const done = read(session, 'state').trim() === 'done';
    for (let n; (n = readSync(log, buffer)) > 0;) {
      const lines = Buffer.concat([rest, buffer.subarray(0, n)]);
      const end = lines.lastIndexOf('\n') + 1;
      rest = lines.subarray(end);
      for (const line of lines.subarray(0, end).toString().split('\n').slice(0, -1)) {
        console.log(`${JSON.parse(line).role}: ${line}`);
      }
    }
    if (done) return;
    await setTimeout(100);
  }
}

const commands = { ask: [ask, 3], append: [append, 3], follow: [follow, 2] };
const args = process.argv.slice(2);
const [command, n] = commands[args[0]] ?? [];
if (args.length !== n) {
  console.error('usage: agent.mjs ask SESSION TEXT | append SESSION LINE | follow SESSION');
  process.exit(1);
}
try {
  mkdirSync(args[1], { recursive: true });
  await command(...args.slice(1));
} catch (e) {
  if (!e.code) throw e;
  console.error(`agent: ${e.code}: ${advice[e.code] ?? e.message}`);
  process.exit(1);
}
