// A testee in JavaScript: SGLang's PD control messages over Mooncake and NIXL, read and written
// by the JSON export of the spec and by nothing else. Node 20 or newer, no packages.
//
//   pdwire testee spec > spec.json
//   pdwire testee check -- node testee.mjs spec.json
//   pdwire conform "cmd:node testee.mjs spec.json"
//
// For whoever writes a peer: first how a frame is read and written, type by type, then how frames
// make a message, then the JSON lines around it. Every integer is a BigInt, because pointers go up
// to 2^64-1 and JavaScript's numbers are exact only up to 2^53.
import { readFileSync } from "node:fs";
import { isIPv4, isIPv6 } from "node:net";
import { createInterface } from "node:readline";

/** What a testee answers instead of values; `frame` counts from 0, the guard left aside. */
class Refusal extends Error {
  constructor(kind, text, frame, field) {
    super(text);
    this.told = { kind, text, ...(frame == null ? {} : { frame }), ...(field ? { field } : {}) };
  }
}
class No extends Error {} // one frame or one value is not what its type allows
const no = (text) => { throw new No(text); };
/** Do the work of one field; a No becomes a refusal that says where. */
function placed(kind, frame, field, work) {
  try { return work(); } catch (error) {
    throw error instanceof No ? new Refusal(kind, `${field}: ${error.message}`, frame, field) : error;
  }
}

// ---------------------------------------------------------------- types of frames
const isString = (value) => typeof value === "string";
const latin = (raw) => raw?.toString("latin1");
const ascii = (raw) => raw.every((byte) => byte < 128) ? latin(raw) : no("not ASCII");
const isList = (value) => Array.isArray(value) ? value : no("not a list");
const among = (word, { allowed }) => !allowed.length || allowed.includes(word) ? word : no("none of its words");
const inRange = (value, { min, max }) =>
  typeof value === "bigint" && value >= min && value <= max ? value : no(`not an integer in ${min}..${max}`);

const LABEL = "[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?";
const NAME = new RegExp(`^(?:${LABEL}\\.)*(?![0-9]+$)${LABEL}$`);
function isHost(text) {
  const bracketed = /^\[.*\]$/.test(text);
  const [address, scope] = (bracketed ? text.slice(1, -1) : text).split(/%(.*)/s);
  if (isIPv6(address)) return scope === undefined || /^[A-Za-z0-9_.~-]{1,64}$/.test(scope);
  return !bracketed && (isIPv4(text) || (text.length <= 253 && NAME.test(text)));
}
function isHostPort(text) {
  const [, host, port] = /^(.*):([1-9][0-9]{0,4})$/s.exec(text) ?? [];
  return port !== undefined && +port <= 65535 && (!host.includes(":") || host[0] === "[") && isHost(host);
}
/** A type: how a frame's bytes become a value, and back; `at` is the frame in the export. */
const type = (read, write) => ({ read, write });
const word = (fits) => type(
  (raw, at) => fits(ascii(raw)) ? among(latin(raw), at) : no("not such a word"),
  (value, at) => isString(value) && fits(value) ? Buffer.from(among(value, at)) : no("not such a word"));
const fixed = (width, get, put) => type(
  (raw, at) => raw.length === width ? inRange(BigInt(raw[get](0)), at) : no(`not ${width} bytes`),
  (value, at) => {
    const raw = Buffer.alloc(width);
    raw[put](width === 8 ? inRange(value, at) : Number(inRange(value, at)));
    return raw;
  });
const array = (item, width, min, max) => type(
  (raw) => raw.length % width ? no(`not a multiple of ${width} bytes`) : Array.from({ length: raw.length / width },
    (_, n) => item.read(raw.subarray(n * width, (n + 1) * width), { min, max })),
  (value) => Buffer.concat(isList(value).map((one) => item.write(one, { min, max }))));
const nested = (flat) => type( // u32 count, that many u32 lengths in bytes, the bodies; every byte used
  (raw) => {
    if (!raw.length) return [];
    const count = raw.length < 4 ? 0 : raw.readUInt32LE(0);
    let end = 4 + 4 * count;
    if (!count || end > raw.length) no(`${raw.length} bytes do not hold ${count} lists`);
    const lists = Array.from({ length: count }, (_, n) => {
      const start = end;
      end += raw.readUInt32LE(4 + 4 * n);
      return end <= raw.length ? flat.read(raw.subarray(start, end)) : no("a list runs past the end");
    });
    return end === raw.length ? lists : no(`${raw.length - end} bytes left over`);
  },
  (value) => {
    const bodies = isList(value).map(flat.write), header = Buffer.alloc(bodies.length && 4 + 4 * bodies.length);
    if (bodies.length) [bodies, ...bodies].forEach(({ length }, n) => header.writeUInt32LE(length, 4 * n));
    return Buffer.concat([header, ...bodies]);
  });
const only = (flat) => type( // a nested field in a flat frame: its one list, or none
  (raw) => raw.length ? [flat.read(raw)] : [],
  (value) => isList(value).length > 1 ? no("more than one list") : flat.write(value[0] ?? []));
const u32 = fixed(4, "readUInt32LE", "writeUInt32LE"), u64 = fixed(8, "readBigUInt64LE", "writeBigUInt64LE");
const DECIMAL = /^(?:0|-?[1-9][0-9]{0,19})$/;
const TYPES = {
  dec: type((raw, at) => DECIMAL.test(latin(raw)) ? inRange(BigInt(latin(raw)), at) : no("not a canonical decimal"),
    (value, at) => Buffer.from(String(inRange(value, at)))),
  flag: type((raw) => ({ 0: false, 1: true })[latin(raw)] ?? no("neither 0 nor 1"),
    (value) => typeof value === "boolean" ? Buffer.from(value ? "1" : "0") : no("not a boolean")),
  u32, u64, u32be: fixed(4, "readUInt32BE", "writeUInt32BE"),
  text: word((text) => /^[!-~]+$/.test(text)), host: word(isHost), hostport: word(isHostPort),
  utf8: type((raw, at) => raw.length && raw.equals(Buffer.from(`${raw}`)) ? among(`${raw}`, at) : no("not UTF-8"),
    (value, at) => value && isString(value) ? Buffer.from(among(value, at)) : no("no string, or empty")),
  bytes: type((raw) => ({ hex: raw.toString("hex") }),
    (value) => isString(value?.hex) ? Buffer.from(value.hex, "hex") : no("not bytes")),
  names: type((raw, at) => raw.length ? ascii(raw).split(",").map((name) => among(name, at)) : [],
    (value, at) => Buffer.from(isList(value).map((name) => among(name, at)).join())),
  "i32[]": array(fixed(4, "readInt32LE", "writeInt32LE"), 4, -(2n ** 31n), 2n ** 31n - 1n),
  "u32[]": array(u32, 4, 0n, 2n ** 32n - 1n),
  "u64[]": array(u64, 8, 0n, 2n ** 64n - 1n),
};
for (const flat of ["i32[]", "u32[]", "u64[]"]) TYPES[`${flat}[]`] = nested(TYPES[flat]);

// ---------------------------------------------------------------- rules across frames
const same = (a, b) => toJson(a) === toJson(b);
const isEmpty = (value) => typeof value === "bigint" ? value < 0n
  : value == null || value === "" || value.hex === "" || value.length === 0;
const CONDITIONS = {
  empty: (value) => isEmpty(value) && typeof value !== "bigint", none: (value) => value === null,
  negative: (value) => typeof value === "bigint" && value < 0n, falsy: (value) => value === null || value === 0n,
};
const shape = (value) => Array.isArray(value[0]) ? value.map((part) => part.length) : value.length;
const INVARIANTS = {
  same_length: (a, b) => same(shape(a), shape(b)), same_count: (a, b) => a.length === b.length,
  less: (a, b) => a === null || b === null || a < b, needs: (a, b) => isEmpty(a) || !isEmpty(b),
};
/** What an empty or missing frame means: a value, or one per element of another field. */
function meaning(told, values) {
  if (!told || "value" in told) return told?.value;
  const { like, word: text, from_field: field } = told.repeat;
  return values[like]?.map(() => field ? values[field] : text);
}
/** Fill in what no frame said: derived fields by their rule, others by what their absence means. */
function complete(message, layout, values) {
  for (const { name, absent } of message.fields)
    if (values[name] === undefined) values[name] = meaning(absent, values);
  for (const { field, when } of layout.derivations) if (values[field] === undefined)
    values[field] = Object.entries(when).every(([name, test]) => CONDITIONS[test](values[name]));
  return values;
}

// ---------------------------------------------------------------- messages
/** Why a multipart is another message, or nothing. */
function stranger({ guard, recognise }, all) {
  const first = latin(all[guard ? 1 : 0]);
  if (guard && latin(all[0]) !== guard) return `no guard ${guard}`;
  if (recognise?.equals !== undefined && first !== recognise.equals) return `no ${recognise.equals}`;
  if (recognise?.is === "decimal" && TAGS.has(first)) return `another message's ${first}`;
}
function decode(message, layout, all) {
  const values = {}, other = stranger(message, all);
  if (other) throw new Refusal("unknown-message", other);
  if (layout.text) readText(message, layout, all, values);
  else readFrames(message, layout, message.guard ? all.slice(1) : all, values);
  complete(message, layout, values);
  for (const { kind, fields, optional } of layout.invariants) {
    const told = fields.map((name) => values[name]), aside = optional.some((name) => isEmpty(values[name]));
    if (aside || INVARIANTS[kind](...told)) continue;
    throw new Refusal("invariant", `${fields.join(", ")}: not ${kind}`, null, fields.at(-1));
  }
  return values;
}
function typeOf(message, frame) {
  const field = message.fields.find(({ name }) => name === frame.field);
  const flat = field?.type.endsWith("[][]") && !frame.type.endsWith("[][]");
  return flat ? only(TYPES[frame.type]) : TYPES[frame.type];
}
function readFrames(message, layout, body, values) {
  if (!layout.counts.some((count) => Number(count) === body.length))
    throw new Refusal("frame-count", `${body.length} frames, not ${layout.counts.join(" or ")}`);
  const meant = []; // looked up last: a meaning may need another field
  for (const [n, frame] of layout.frames.entries()) {
    const raw = body[n], told = raw ? !raw.length && frame.empty : frame.absent;
    const ruled = layout.derivations.some(({ field }) => field === frame.field);
    if (told && frame.field) meant.push([frame.field, told]);
    if (told || !raw || (ruled && !raw.length)) continue;
    placed("frame-value", n, frame.name, () => {
      if (frame.kind === "const") return latin(raw) === frame.const || no(`not ${frame.const}`);
      const value = typeOf(message, frame).read(raw, frame);
      if (frame.kind === "field") values[frame.field] = value;
      else if (value !== BigInt(body[place(layout, frame.length_of)].length))
        throw new Refusal("invariant", `${value} is not the length of ${frame.length_of}`, n, frame.name);
    });
  }
  for (const [field, told] of meant) values[field] = meaning(told, values);
}
const place = (layout, field) => layout.frames.findIndex((frame) => frame.field === field);
function writeFrames(message, layout, count, values) {
  const raws = layout.frames.slice(0, count).map((frame, n) => {
    if (frame.kind !== "field") return Buffer.from(frame.const ?? "");
    const value = values[frame.field], empty = frame.empty && same(meaning(frame.empty, values), value);
    if (empty && frame.writes_empty) return Buffer.alloc(0);
    if (empty && [null, "", -1n].includes(value)) return Buffer.alloc(0); // these have no other spelling
    return placed("lossy-encode", n, frame.name, () => typeOf(message, frame).write(value, frame));
  });
  for (const [n, { kind, type, length_of: field, ...at }] of layout.frames.slice(0, count).entries())
    if (kind === "length") raws[n] = TYPES[type].write(BigInt(raws[place(layout, field)].length), at);
  return message.guard ? [Buffer.from(message.guard), ...raws] : raws;
}
/** A notification: one text with fields in braces and perhaps an optional tail in brackets. */
function readText(message, layout, all, values) {
  if (all.length !== 1) throw new Refusal("frame-count", `${all.length} frames, not 1`);
  const groups = { dec: "(-?[0-9]+)", flag: "([01])", text: "([!-~]+)" }, fields = [];
  const pattern = layout.text.replace("[", "(?:").replace(/\]$/, ")?").replace(/\{(\w+)\}/g, (_, name) => {
    fields.push(message.fields.find((field) => field.name === name));
    return groups[fields.at(-1).type];
  });
  const found = new RegExp(`^${pattern}$`).exec(latin(all[0]));
  if (!found) throw new Refusal("unknown-message", `not ${layout.text}`);
  for (const [n, field] of fields.entries()) if (found[n + 1] !== undefined) values[field.name] =
    placed("frame-value", null, field.name, () => TYPES[field.type].read(Buffer.from(found[n + 1]), field));
}
function writeText(message, layout, values) {
  const [head, tail = ""] = layout.text.replace("]", "").split("[");
  const late = message.fields.filter(({ name }) => tail.includes(`{${name}}`));
  const isShort = late.every(({ name, absent }) => same(values[name], meaning(absent, values)));
  const whole = isShort ? head : head + tail;
  return [Buffer.from(whole.replace(/\{(\w+)\}/g, (_, name) => {
    const field = message.fields.find((each) => each.name === name);
    return placed("lossy-encode", null, name, () => TYPES[field.type].write(values[name], field));
  }))];
}
/** The fewest frames that say it all: what they say is read again, and must be the same. */
function encode(message, layout, given) {
  const values = complete(message, layout, { ...given });
  let fault;
  for (const count of layout.counts) try {
    const all = layout.text ? writeText(message, layout, values) : writeFrames(message, layout, Number(count), values);
    const back = decode(message, layout, all);
    const lost = message.fields.find(({ name, ignorable }) => !ignorable && !same(back[name], values[name]));
    if (!lost) return all;
    fault = new Refusal("lossy-encode", `${lost.name} would come back as ${toJson(back[lost.name])}`, null, lost.name);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { kind, text, frame, field } = error.told;
    fault = new Refusal(kind === "invariant" ? kind : "lossy-encode", text, frame, field);
  }
  throw fault;
}
/** Every layout that reads the frames; ambiguous where two of them read different values. */
function recognise(backend, all, direction) {
  const fits = [], faults = [];
  for (const message of having(backend)) {
    const number = message.recognise?.is !== "decimal" || /^\d+$/.test(latin(all[message.guard ? 1 : 0]));
    if (message.transport !== "zmq" || !number || stranger(message, all)) continue;
    if (direction && !message.directions.includes(direction)) continue;
    for (const layout of message.layouts.filter(({ speakers }) => speakers[backend])) try {
      fits.push([message.name, layout.id, toJson(decode(message, layout, all))]);
    } catch (error) { faults.push(error); }
  }
  const nearest = faults.find(({ told }) => told?.kind !== "frame-count") ?? faults[0];
  if (!fits.length) throw nearest ?? new Refusal("unknown-message", "no message begins like this");
  const names = [...new Set(fits.map(([name]) => name))];
  return {
    ambiguous: fits.some(([name, , values]) => name !== names[0] || values !== fits[0][2]),
    candidates: names.map((message) => ({ message, layouts: fits.flatMap((fit) => fit[0] === message ? fit[1] : []) })),
  };
}

// ---------------------------------------------------------------- JSON lines
/** JSON in which integers are BigInts, whatever their size; JSON.parse alone would round them. */
function fromJson(text) {
  const marked = text.replace(/"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g,
    (token) => /^-?\d+$/.test(token) ? `{"$integer":"${token}"}` : token);
  return JSON.parse(marked, (_, value) => value?.$integer ? BigInt(value.$integer) : value);
}
function toJson(value) {
  if (typeof value === "bigint") return String(value);
  if (Array.isArray(value)) return `[${value.map(toJson)}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value) ?? "null";
  return `{${Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}:${toJson(item)}`)}}`;
}
const BACKENDS = ["mooncake", "nixl"];
const spec = fromJson(readFileSync(process.argv[2], "utf-8"));
const MESSAGES = spec.messages.filter(({ transport }) => transport !== "http");
const TAGS = new Set(spec.messages.flatMap(({ guard, recognise: told }) => [guard, told?.equals]).filter(Boolean));
const having = (backend) => MESSAGES.filter(({ backends }) => backends.includes(backend));
const features = ["recognise", "typed-errors"], roles = ["codec"], operations = ["decode", "encode"];
const claim = ({ name, releases }) =>
  [name, { releases, messages: Object.fromEntries(having(name).map((each) => [each.name, operations])) }];
const backends = Object.fromEntries(spec.backends.filter(({ name }) => BACKENDS.includes(name)).map(claim));
const hello = { protocol: "pdwire.testee/1", name: "node example", version: "1", roles, features, backends };

function answer({ op, backend, release, message: name, frames = [], values, direction }) {
  const all = frames.map((frame) => Buffer.from(frame, "hex"));
  if (op === "hello") return { hello };
  if (op === "stop") return {};
  if (op === "recognise") return { recognised: recognise(backend, all, direction) };
  if (op !== "decode" && op !== "encode") return { error: { kind: "other", text: `unknown op ${op}` } };
  const message = having(backend).find((each) => each.name === name);
  const layout = message?.layouts.find(({ speakers }) => speakers[backend]?.includes(release));
  if (!layout) return { skip: `${backend} has no ${name} in ${release}` };
  if (op === "decode") return { values: decode(message, layout, all) };
  return { frames: encode(message, layout, values).map((raw) => raw.toString("hex")) };
}
for await (const line of createInterface({ input: process.stdin })) {
  let request, told;
  try { told = answer(request = fromJson(line)); } catch (error) {
    told = { error: error.told ?? { kind: "other", text: `${error}` } };
  }
  process.stdout.write(`${toJson({ id: request?.id ?? null, ...told })}\n`);
  if (request?.op === "stop") { process.stdin.destroy(); break; }
}
