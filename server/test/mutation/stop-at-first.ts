// A reporter that ends the run with the first test that fails: one is enough.

export default async function* stopAtFirst(events: AsyncIterable<{ readonly type: string }>): AsyncGenerator<string> {
  for await (const { type } of events) {
    if (type === 'test:fail') process.exit(1);
    yield '';
  }
}
