// Where devices stand on the fabric map: tiers by stage, the core above, hosts' ports below their leaf.

const STAGES = ["core", "superspine", "spine", "agg", "tor", "leaf"];
const GAP = { x: 26, y: 128 };
const PORT = 15;
const LEAST = 96;
const WIDTH = 1080;
export const BOX = 40;

/** Devices with place and size: {devices: Map, width, height}; `hops` are those that are drawn. */
export function placed(hops) {
  const tiers = new Map();
  const devices = new Map();
  for (const hop of hops) {
    if (!devices.has(hop.device)) devices.set(hop.device, { name: hop.device, stage: hop.stage || "", ports: [] });
  }
  for (const hop of hops) {
    if (!devices.has(hop.peer_device)) devices.get(hop.device).ports.push(hop);
  }
  for (const device of devices.values()) {
    const rank = STAGES.indexOf(device.stage);
    const tier = rank < 0 ? STAGES.length : rank;
    tiers.set(tier, [...(tiers.get(tier) || []), device]);
    device.width = Math.max(LEAST, device.name.length * 8 + 26, device.ports.length * PORT + 12);
  }
  const rows = [...tiers.entries()].sort(([a], [b]) => a - b).map(([, row]) => row.sort((a, b) => a.name.localeCompare(b.name, undefined, { numeric: true })));
  const wide = (row) => row.reduce((sum, device) => sum + device.width + GAP.x, -GAP.x);
  const width = Math.max(...rows.map(wide), WIDTH - 40) + 40;
  rows.forEach((row, tier) => {
    const free = (width - wide(row)) / (row.length + 1);
    let x = row.length > 1 ? Math.max(20, free) : (width - wide(row)) / 2;
    const step = row.length > 1 ? Math.max(GAP.x, (width - 2 * x - wide(row) + GAP.x * (row.length - 1)) / (row.length - 1)) : 0;
    for (const device of row) {
      device.x = x;
      device.y = 16 + tier * GAP.y;
      x += device.width + step;
    }
  });
  hang(devices, hops);
  const ports = Math.max(0, ...rows.at(-1).map((device) => device.ports.length)) ? 34 : 0;
  return { devices, width, height: 16 + (rows.length - 1) * GAP.y + BOX + ports + 14 };
}

/** Place of a port of a host below its device. */
export const portPlace = (device, at) => ({ x: device.x + device.width / 2 + (at - device.ports.length / 2) * PORT + 1, y: device.y + BOX + 8, size: PORT - 3 });

/** Where on its edge each device holds the line to each other one: in the order of their places. */
function hang(devices, hops) {
  for (const device of devices.values()) {
    const others = [...new Set(hops.flatMap((hop) => (hop.device === device.name ? [hop.peer_device] : hop.peer_device === device.name ? [hop.device] : [])))]
      .map((name) => devices.get(name)).filter((other) => other && other !== device)
      .sort((a, b) => a.x + a.width / 2 - b.x - b.width / 2);
    device.hooks = new Map(others.map((other, at) => [other.name, device.x + ((at + 1) * device.width) / (others.length + 1)]));
  }
}
