// How much work something is, for tests that demand that it is little: the time of the processor, all threads of this
// process together. The time on a clock also grows with whatever else the machine does.

export async function processorMs(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
