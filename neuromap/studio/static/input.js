// The picture that is drawn, and the bits that the chip sampled.
let picture = null;
let cursor = [0, 0];
let tell = () => {};
let pending = null;
let sent = []; // drawings on their way: an echo of one before the last would undo what was drawn since

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const drawing = document.getElementById("drawing");
const sampled = document.getElementById("sampled");

export function onDraw(callback) { tell = callback; }

export function takePicture(message) {
  if (pending !== null || isDown) return; // what is drawn just now is newer
  if (!message.shape) { picture = null; show(); return; }
  const echo = sent.lastIndexOf(String(message.pixels));
  if (echo >= 0 && echo < sent.length - 1) return;
  sent = [];
  const [rows, columns, features] = message.shape;
  const size = rows * columns * features;
  picture = { node: message.node, rows, columns, features, pixels: message.pixels || new Array(size).fill(0), of: message.of };
  cursor = [Math.min(cursor[0], rows - 1), Math.min(cursor[1], columns - 1)];
  show();
}

function show() {
  const pen = drawing.getContext("2d");
  pen.fillStyle = css("--panel");
  pen.fillRect(0, 0, drawing.width, drawing.height);
  if (!picture) {
    pen.fillStyle = css("--ink");
    pen.font = "14px system-ui, 'DejaVu Sans', sans-serif";
    pen.fillText("no input takes pictures", 20, 120);
    return;
  }
  const { rows, columns, features, pixels } = picture;
  const side = Math.min(drawing.width / columns, drawing.height / rows);
  for (let r = 0; r < rows; r++) {
    for (let c = 0; c < columns; c++) {
      const at = (r * columns + c) * features;
      const rgb = features === 3 ? pixels.slice(at, at + 3) : Array(3).fill(Math.max(...pixels.slice(at, at + features)));
      pen.fillStyle = `rgb(${rgb.join(",")})`;
      pen.fillRect(c * side, r * side, side - (side > 8 ? 1 : 0), side - (side > 8 ? 1 : 0));
    }
  }
  if (document.activeElement === drawing) {
    pen.strokeStyle = css("--accent");
    pen.lineWidth = 3;
    pen.strokeRect(cursor[1] * side + 1.5, cursor[0] * side + 1.5, side - 4, side - 4);
  }
}

function set(r, c, value) {
  if (!picture || r < 0 || c < 0 || r >= picture.rows || c >= picture.columns) return;
  const at = (r * picture.columns + c) * picture.features;
  for (let f = 0; f < picture.features; f++) picture.pixels[at + f] = value;
  show();
  if (pending === null) pending = setTimeout(() => {
    pending = null;
    sent.push(String(picture.pixels));
    tell(picture.node, picture.pixels);
  }, 60);
}

const lit = (r, c) => picture.pixels[(r * picture.columns + c) * picture.features] > 127;
let isDown = false;
let paint = 255;
function cellOf(event) {
  const box = drawing.getBoundingClientRect();
  const side = Math.min(box.width / picture.columns, box.height / picture.rows);
  return [Math.floor((event.clientY - box.top) / side), Math.floor((event.clientX - box.left) / side)];
}
drawing.addEventListener("pointerdown", (event) => {
  if (!picture) return;
  const [r, c] = cellOf(event);
  if (r >= picture.rows || c >= picture.columns) return;
  isDown = true;
  paint = lit(r, c) ? 0 : 255;
  drawing.setPointerCapture(event.pointerId);
  set(r, c, paint);
});
drawing.addEventListener("pointermove", (event) => { if (isDown && picture) set(...cellOf(event), paint); });
for (const name of ["pointerup", "pointercancel"]) drawing.addEventListener(name, () => { isDown = false; });
drawing.addEventListener("keydown", (event) => {
  if (!picture) return;
  const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  if (moves[event.key]) {
    const [dr, dc] = moves[event.key];
    cursor = [Math.max(0, Math.min(picture.rows - 1, cursor[0] + dr)), Math.max(0, Math.min(picture.columns - 1, cursor[1] + dc))];
    event.preventDefault();
    show();
  } else if (event.key === "Enter") {
    event.preventDefault();
    set(cursor[0], cursor[1], lit(...cursor) ? 0 : 255);
  }
});
for (const name of ["focus", "blur"]) drawing.addEventListener(name, show);

export function takeSampled(seen) {
  const pen = sampled.getContext("2d");
  pen.fillStyle = css("--panel");
  pen.fillRect(0, 0, sampled.width, sampled.height);
  document.getElementById("sampled-frame").textContent = seen ? String(seen.frame) : "none yet";
  if (!seen) return;
  const [rows, columns, features] = seen.shape;
  const side = Math.min(sampled.width / columns, sampled.height / rows);
  pen.fillStyle = css("--before");
  pen.fillRect(0, 0, columns * side, rows * side);
  pen.fillStyle = css("--accent");
  for (const neuron of seen.on) {
    const pixel = Math.floor(neuron / features);
    pen.fillRect((pixel % columns) * side, Math.floor(pixel / columns) * side, side - (side > 8 ? 1 : 0), side - (side > 8 ? 1 : 0));
  }
  sampled.setAttribute("aria-label", `Bits that the chip sampled last: ${seen.on.length} of ${rows * columns * features} spike in frame ${seen.frame}`);
}
