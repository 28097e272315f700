// Pasted into the console of index.html: ten filters, each to its layout and to the next frame.
const frame = () => new Promise(done => requestAnimationFrame(() => {
  const after = new MessageChannel();
  after.port1.onmessage = done;
  after.port2.postMessage(0);
}));
const input = document.forms[0].q, lines = ["filter,script_ms,layout_ms,to_frame_ms"];
for (const words of ["xfs", "nvme", "database", "ext4 sd", "btrfs", "mail ssd", "zzz", "log xfs", "sqlite nvme ext4", ""]) {
  const start = performance.now();
  input.value = words;
  input.dispatchEvent(new Event("input", { bubbles: true }));
  const shown = performance.now();
  document.body.offsetHeight;
  const laid = performance.now();
  await frame();
  lines.push([words, shown - start, laid - shown, performance.now() - start].join());
  await new Promise(done => setTimeout(done, 300));
}
console.log(lines.join("\n"));
