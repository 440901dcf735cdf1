// The small mistakes that are made in a source file, one at a time: another comparison, a condition that always holds, an
// empty block. Types are replaced by blanks before the text is parsed, so that every place is one of the original text.

import { stripTypeScriptTypes } from 'node:module';

export interface Mutant {
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
  readonly kind: string;
}

/** What the parser returns, as far as it is used here. */
export interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

export type Parse = (
  text: string,
  options: { readonly ecmaVersion: 'latest'; readonly sourceType: 'module' },
) => unknown;

const OTHER_OPERATORS: ReadonlyMap<string, readonly string[]> = new Map([
  ['<', ['<=', '>=']],
  ['<=', ['<', '>']],
  ['>', ['>=', '<=']],
  ['>=', ['>', '<']],
  ['===', ['!==']],
  ['!==', ['===']],
  ['+', ['-']],
  ['-', ['+']],
  ['*', ['/']],
  ['/', ['*']],
  ['%', ['*']],
  ['&&', ['||']],
  ['||', ['&&']],
  ['??', ['&&']],
  ['+=', ['-=']],
  ['-=', ['+=']],
  ['*=', ['/=']],
  ['++', ['--']],
  ['--', ['++']],
]);
const OTHER_METHODS: ReadonlyMap<string, string> = new Map([
  ['min', 'max'],
  ['max', 'min'],
  ['floor', 'ceil'],
  ['ceil', 'floor'],
  ['some', 'every'],
  ['every', 'some'],
  ['startsWith', 'endsWith'],
  ['endsWith', 'startsWith'],
]);

/** The same text with blanks in place of its types: every place in it is the same. */
export function withoutTypes(source: string): string {
  return stripTypeScriptTypes(source);
}

export function mutantsOf(source: string, parse: Parse): Mutant[] {
  const script = withoutTypes(source);
  const program = parse(script, { ecmaVersion: 'latest', sourceType: 'module' }) as SyntaxNode;
  const found: Mutant[] = [];
  walk(program, (node, isThrown) => {
    // What an error says, and whether it is thrown at all where that cannot happen, is no rule.
    if (!isThrown) found.push(...ofNode(node, script));
  });
  return found;
}

function walk(node: SyntaxNode, visit: (node: SyntaxNode, isThrown: boolean) => void, isThrown = false): void {
  const isInThrow = isThrown || node.type === 'ThrowStatement';
  visit(node, isInThrow);
  for (const value of Object.values(node)) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (isNode(each)) walk(each, visit, isInThrow);
    }
  }
}

function isNode(value: unknown): value is SyntaxNode {
  return typeof value === 'object' && value !== null && typeof (value as SyntaxNode).type === 'string';
}

function ofNode(node: SyntaxNode, script: string): Mutant[] {
  switch (node.type) {
    case 'BinaryExpression':
    case 'LogicalExpression':
    case 'AssignmentExpression':
      return otherOperator(node, node.left as SyntaxNode, node.right as SyntaxNode, script);
    case 'UpdateExpression':
      return [
        swap(
          node,
          script.slice(node.start, node.end).replace(/\+\+|--/, (text) => (text === '++' ? '--' : '++')),
          'count',
        ),
      ];
    case 'UnaryExpression':
      return ofUnary(node, script);
    case 'IfStatement':
    case 'ConditionalExpression':
      return always(node.test as SyntaxNode, ['true', 'false']);
    case 'WhileStatement':
    case 'ForStatement':
      return node.test ? always(node.test as SyntaxNode, ['false']) : [];
    case 'BlockStatement':
      return (node.body as unknown[]).length > 0 ? [swap(node, '{}', 'empty block')] : [];
    case 'Literal':
      return typeof node.value === 'boolean' ? [swap(node, String(!node.value), 'boolean')] : [];
    case 'CallExpression':
      return ofCall(node, script);
    default:
      return [];
  }
}

function swap({ start, end }: SyntaxNode, replacement: string, kind: string): Mutant {
  return { start, end, replacement, kind };
}

function always(test: SyntaxNode, values: readonly string[]): Mutant[] {
  return values.map((value) => swap(test, value, 'condition'));
}

/** The operator stands between its two sides. Comments and brackets may stand there too. */
function otherOperator(node: SyntaxNode, left: SyntaxNode, right: SyntaxNode, script: string): Mutant[] {
  const operator = node.operator as string;
  const at = script.indexOf(operator, left.end);
  if (at < 0 || at >= right.start) return [];
  const others = OTHER_OPERATORS.get(operator) ?? [];
  // Texts are joined, not added.
  if (
    operator === '+' &&
    [left, right].some(({ type, value }) => type === 'TemplateLiteral' || typeof value === 'string')
  )
    return [];
  return others.map((other) => ({ start: at, end: at + operator.length, replacement: other, kind: 'operator' }));
}

function ofUnary(node: SyntaxNode, script: string): Mutant[] {
  const { start, end } = node.argument as SyntaxNode;
  if (node.operator !== '!' && node.operator !== '-') return [];
  return [swap(node, ` ${script.slice(start, end)}`, 'sign')];
}

function ofCall(node: SyntaxNode, script: string): Mutant[] {
  const callee = node.callee as SyntaxNode;
  if (callee.type !== 'MemberExpression' || callee.computed) return [];
  const property = callee.property as SyntaxNode;
  const name = property.name as string;
  const other = OTHER_METHODS.get(name);
  if (other !== undefined) return [swap(property, other, 'method')];
  const object = callee.object as SyntaxNode;
  if (name !== 'filter' && name !== 'trim' && name !== 'toLowerCase') return [];
  return [{ start: object.end, end: node.end, replacement: '', kind: `without ${name}` }].filter(() =>
    script.slice(object.end, node.end).startsWith('.'),
  );
}

/** The text with the mistake in it. */
export function planted(source: string, { start, end, replacement }: Mutant): string {
  return source.slice(0, start) + replacement + source.slice(end);
}
