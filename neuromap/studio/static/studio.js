// The page's end of the socket: commands go out, parts and looks come in. Nothing that arrives is ever run.
import { drawLayout, drawLook, redraw, coreAt } from "./pictures.js";
import { takePicture, takeSampled, onDraw } from "./input.js";

const session = document.body.dataset.session;
const byId = (id) => document.getElementById(id);
let socket = null;
let waiting = 500;
let refusal = ""; // why the studio shows this tab nothing; stays until it does

function say(line) {
  const place = byId("line");
  place.textContent = line;
  place.hidden = !line;
}

export function send(command) {
  if (!socket || socket.readyState !== WebSocket.OPEN) return;
  say("");
  socket.send(JSON.stringify(command));
}

function connect() {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  socket = new WebSocket(`${scheme}://${location.host}/s/${session}/live`);
  socket.onopen = () => { document.body.dataset.connected = "yes"; if (!refusal) say(""); };
  socket.onmessage = (event) => take(JSON.parse(event.data));
  socket.onclose = () => {
    document.body.dataset.connected = "no";
    byId("status").textContent = refusal
      ? "the studio refused to open this session, for the reason below; trying again"
      : "not connected: the studio has ended or cannot be reached; trying again";
    setTimeout(connect, waiting);
    waiting = Math.min(waiting * 1.5, 5000);
  };
}

function take(message) {
  if (message.kind === "parts") takeParts(message);
  else if (message.kind === "layout") drawLayout(message.runs);
  else if (message.kind === "picture") takePicture(message);
  else if (message.kind === "look") takeLook(message);
  else if (message.kind === "error") say(message.line);
  else if (message.kind === "refused") say(refusal = message.line);
}

function takeParts(message) {
  waiting = 500;
  if (refusal) say(refusal = "");
  byId("title").textContent = message.title;
  byId("tick-length").textContent = message.tick;
  byId("run-1").hidden = message.runs < 2;
  byId("runs").classList.toggle("two", message.runs > 1);
  const focused = focusKey(document.activeElement);
  for (const [id, html] of Object.entries(message.parts)) {
    const place = byId(id);
    if (!place) continue;
    place.innerHTML = html;
    if (id.startsWith("network-")) makeEdgesButtons(place, Number(id.slice(-1)));
  }
  if (focused && !document.contains(focused.element)) document.querySelector(focused.selector)?.focus();
}

function focusKey(element) {
  if (!element || element === document.body) return null;
  const parts = [element.tagName.toLowerCase()];
  if (element.id) parts.push(`#${CSS.escape(element.id)}`);
  for (const name of ["data-do", "data-run", "data-value", "data-source", "data-target"]) {
    if (element.hasAttribute(name)) parts.push(`[${name}="${CSS.escape(element.getAttribute(name))}"]`);
  }
  return parts.length > 1 ? { element, selector: parts.join("") } : null;
}

function makeEdgesButtons(place, run) {
  for (const edge of place.querySelectorAll("g[data-source]")) {
    const { source, target } = edge.dataset;
    const streams = edge.classList.contains("streaming");
    edge.setAttribute("tabindex", "0");
    edge.setAttribute("role", "button");
    edge.setAttribute("aria-pressed", String(streams));
    edge.setAttribute("aria-label", `edge ${source} to ${target}: ${streams ? "streaming" : "sequential"}; toggles`);
    edge.dataset.run = run;
    const line = edge.querySelector("path.line");
    if (line) {
      const hit = line.cloneNode(false);
      hit.setAttribute("class", "hit");
      edge.append(hit);
    }
    const toggle = () => send({ do: "toggle", run, source, target });
    edge.addEventListener("click", toggle);
    edge.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); event.stopPropagation(); toggle(); }
    });
  }
}

let isPlaying = false;
let lineOfLook = "";
function takeLook(look) {
  isPlaying = look.playing;
  byId("play").textContent = look.playing ? "Pause" : "Play";
  byId("play").dataset.do = look.playing ? "pause" : "play";
  for (const button of document.querySelectorAll(".transport button")) button.disabled = !look.ready;
  byId("speed").value = String(look.speed);
  byId("clock").textContent = `tick ${look.tick} (${look.time})`;
  byId("clock").dataset.tick = look.tick;
  if (byId("status").textContent !== look.status) byId("status").textContent = look.status;
  if (look.line !== lineOfLook) {
    lineOfLook = look.line; // a line of this tab alone stays until the next command
    say(look.line);
  }
  drawLook(look);
  takeSampled(look.sampled);
}

function command(element) {
  const found = { do: element.dataset.do };
  if (element.dataset.run !== undefined) found.run = Number(element.dataset.run);
  let value = element.dataset.value;
  if (element.type === "checkbox") value = element.checked;
  else if (value === undefined && element.tagName !== "BUTTON") value = element.value;
  if (value !== undefined) found.value = element.dataset.number !== undefined ? Number(value) : value;
  return found;
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-do]");
  if (button) send(command(button));
});
document.addEventListener("change", (event) => {
  if (event.target.matches("select[data-do], input[data-do]")) send(command(event.target));
  else if (event.target.matches("input[type=file]")) upload(event.target);
});
document.addEventListener("submit", (event) => {
  if (!event.target.matches("form.edit")) return;
  event.preventDefault();
  const form = event.target;
  const edit = { kind: form.dataset.edit };
  for (const field of form.elements) {
    if (!field.name) continue;
    if (field.name === "link") {
      const [x, y, up] = field.value.split(",").map(Number);
      Object.assign(edit, { x, y, upwards: up === 1 });
    } else if (field.type === "number") edit[field.name] = field.value === "" ? null : Number(field.value);
    else edit[field.name] = field.value;
  }
  send({ do: "edit", run: Number(form.dataset.run), edit });
});

const KEYS = { t: "tick", f: "frame", r: "replay", 0: "restart" };
document.addEventListener("keydown", (event) => {
  const inField = event.target.closest("input, select, textarea, [contenteditable]");
  if (inField || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === " " && !event.target.closest("button, summary, a")) {
    event.preventDefault();
    send({ do: isPlaying ? "pause" : "play" });
  } else if (KEYS[event.key]) send({ do: KEYS[event.key] });
});

for (const k of [0, 1]) {
  byId(`chip-${k}`).addEventListener("click", (event) => {
    const core = coreAt(k, event);
    const line = byId(`core-${k}`);
    line.hidden = !core;
    if (!core) return;
    line.textContent = `${core.text} `;
    const button = document.createElement("button");
    button.textContent = `Silence core ${core.number}`;
    button.addEventListener("click", () => send({ do: "edit", run: k, edit: { kind: "silent-core", core: core.number } }));
    line.append(button);
  });
}
onDraw((node, pixels) => send({ do: "draw", node, pixels }));

const base64 = (buffer) => new Promise((done) => {
  const reader = new FileReader();
  reader.onload = () => done(reader.result.slice(reader.result.indexOf(",") + 1));
  reader.readAsDataURL(new Blob([buffer]));
});

async function upload(field) {
  const files = [...field.files];
  if (!files.length) return;
  let kind = "scene";
  let body = files[0];
  if (field.id === "stimulus-file") kind = "stimulus";
  if (field.id === "network-files") {
    kind = "network";
    const toml = files.find((file) => file.name.toLowerCase().endsWith(".toml"));
    const weights = files.find((file) => !file.name.toLowerCase().endsWith(".toml"));
    if (!toml) { say("network: choose its .toml file, and its .safetensors file with it"); field.value = ""; return; }
    body = JSON.stringify({ toml: await toml.text(), weights: weights ? await base64(await weights.arrayBuffer()) : null });
  }
  try {
    const answer = await fetch(`/s/${session}/${kind}`, { method: "POST", body });
    const text = await answer.text();
    say(answer.ok ? "" : text.startsWith("{") ? JSON.parse(text).error : text.trim());
  } catch (error) {
    say(`${kind} file: was not sent (${error.message})`);
  }
  field.value = "";
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
addEventListener("resize", redraw);
connect();
