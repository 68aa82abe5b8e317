/**
 * The mutants of a source text: small changes, one at a time, each of which a test should notice.
 *
 * This is a plugin of `deno lint`, because Deno parses TypeScript for such plugins alone. The plugin reports one diagnostic
 * for each mutant, with a {@link Change} as JSON in its message. What only types need, messages of errors and the text of
 * imports stay as they are.
 *
 * @module
 */

/** A change of a source text. */
export interface Change {
  /** The kind of change, such as `drop-element`. */
  readonly rule: string;
  /** The range that `text` replaces, in UTF-16 units. */
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

type Node = Deno.lint.Node;
type Of<Type extends Node["type"]> = Extract<Node, { type: Type }>;

const OPERATORS: Readonly<Record<string, string>> = {
  ...{ "===": "!==", "!==": "===", "<": "<=", "<=": "<", ">": ">=", ">=": ">" },
  ...{ "+": "-", "-": "+", "*": "/", "/": "*" },
};

/** Methods in the place of others; those with "" are left out, as `list` in the place of `list.filter(…)`. */
const METHODS: Readonly<Record<string, string>> = {
  ...{ some: "every", every: "some", find: "findLast", findLast: "find", min: "max", max: "min" },
  ...{ startsWith: "endsWith", endsWith: "startsWith", indexOf: "lastIndexOf" },
  ...{ lastIndexOf: "indexOf", replaceAll: "replace" },
  ...{ filter: "", toSorted: "", toReversed: "", trim: "", trimEnd: "", toLowerCase: "" },
};

/** Options of the platform that hardly show in behaviour, and texts for people. */
const UNSEEN_KEYS =
  /^(?:recursive|stream|fatal|ignoreBOM|once|message|suggestion|description|summary|usage)$/u;

const WORD = /^[\w.:/-]+$/u;

/** Reports the mutants of a file. */
function visitor(context: Deno.lint.RuleContext): Deno.lint.LintVisitor {
  const { text: source } = context.sourceCode;
  const textOf = ({ range }: Node) => source.slice(...range);
  const report = (rule: string, [start, end]: readonly [number, number], text: string) => {
    const change: Change = { rule, start, end, text };
    if (source.slice(start, end) === text) return;
    context.report({ range: [start, end], message: JSON.stringify(change) });
  };
  const replace = (rule: string, node: Node, text: string) => {
    if (!isLeftOut(node)) report(rule, node.range, text);
  };
  /** Makes a condition always or never true; where it is true or not, types are what it makes of them. */
  const force = (rule: "always" | "never", test: Node) => {
    const known = rule === "always" ? "(true as boolean) ||" : "(false as boolean) &&";
    replace(rule, test, `${known} (${textOf(test)})`);
  };
  const remove = (rule: string, node: Node, range: readonly [number, number]) => {
    if (!isLeftOut(node)) report(rule, range, "");
  };
  /** The range of a node with the parentheses around it, which are no nodes. */
  const outer = ([start, end]: readonly [number, number]): [number, number] => {
    const before = /\(\s*$/u.exec(source.slice(0, start))?.[0].length;
    const after = /^\s*\)/u.exec(source.slice(end))?.[0].length;
    if (before === undefined || after === undefined) return [start, end];
    return outer([start - before, end + after]);
  };
  /** Leaves an item of a list out, with the comma after it. */
  const drop = (rule: string, node: Node) => {
    const [start] = node.range;
    // Deno takes the dots alone for the range of a spread.
    const end = node.type === "SpreadElement" ? outer(node.argument.range)[1] : node.range[1];
    const comma = /^\s*,/u.exec(source.slice(end))?.[0].length ?? 0;
    remove(rule, node, [start, end + comma]);
  };
  const returnAtOnce = ({ body, returnType, generator, async }: FunctionNode) => {
    if (body?.type !== "BlockStatement" || returnType === undefined || generator) return;
    const type = textOf(returnType.typeAnnotation).replace(/^Promise<(.*)>$/su, "$1");
    const value = /\| undefined$/u.test(type) ? "undefined" : /\[\]$/u.test(type) ? "[]" : "";
    const at = body.range[0] + 1;
    // An async function is often a wait, for which nothing is to be had in the pure modules.
    if (value !== "" && !async) {
      report("return-at-once", [at, at], ` if (true as boolean) return ${value};`);
    }
  };
  return {
    BinaryExpression(node) {
      const { left, right, operator, parent } = node;
      const other = OPERATORS[operator];
      // `always` and `never` are harder to notice than the opposite of a whole condition.
      if (other === undefined || isLeftOut(node) || (isTest(node) && /^[!=]/u.test(operator))) {
        return;
      }
      if (operator === "+" && [left, right, parent].some(isText)) return;
      const between: [number, number] = [left.range[1], right.range[0]];
      report("operator", between, source.slice(...between).replace(operator, other));
    },
    LogicalExpression(node) {
      const { left, right, operator, range: [start, end] } = node;
      // A default that only the types ask for: an index is known to be there.
      if (operator === "??" && isIndexed(left) && right.type !== "CallExpression") return;
      remove("drop-right", node, [outer(left.range)[1], end]);
      const isChain = left.type === "LogicalExpression" && left.operator === operator;
      if (operator !== "??" && !isChain) remove("drop-left", node, [start, outer(right.range)[0]]);
    },
    UnaryExpression(node) {
      const { operator, range: [start] } = node;
      if (operator === "!" && !isTest(node)) remove("drop-not", node, [start, start + 1]);
    },
    IfStatement({ test, consequent, alternate }) {
      const [only = consequent, ...more] = consequent.type === "BlockStatement"
        ? consequent.body
        : [consequent];
      const asserts = only.type === "ThrowStatement" && more.length === 0 && alternate === null &&
        /^throw new (?:Type|Range)?Error\(/u.test(textOf(only));
      if (asserts) return;
      force("always", test);
      force("never", test);
    },
    WhileStatement({ test }) {
      force("never", test);
    },
    ConditionalExpression({ test, consequent, alternate, parent }) {
      const isEmpty = [consequent, alternate].some((each) => textOf(each) === "{}");
      // Without the spread it is dropped, and with `undefined` in place of nothing it is nearly the same.
      if (parent.type === "SpreadElement" && isEmpty && /undefined/u.test(textOf(test))) return;
      force("always", test);
      force("never", test);
    },
    SwitchCase({ test, parent, range }) {
      const rest = parent.cases.filter((each) => each.range[0] >= range[0]);
      const last = rest.find(({ consequent }) => consequent.length > 0);
      // A case that the default would take, too.
      const isDefault = rest.slice(0, last && rest.indexOf(last) + 1).some((each) => !each.test);
      if (test !== null && !isDefault) replace("no-case", test, "undefined as never");
    },
    ExpressionStatement(node) {
      const { expression } = node;
      const { type } = expression.type === "AwaitExpression" ? expression.argument : expression;
      if (type === "AssignmentExpression" && isLooped(node)) return;
      if (!/^(?:Call|Assignment|Yield)Expression$/u.test(type)) return;
      if (!/^super\b/u.test(textOf(node))) replace("drop-statement", node, "{}");
    },
    ArrayExpression({ elements, parent }) {
      const isPair = elements.length === 2 &&
        /^(?:Array|ArrowFunction|TSAs)Expression$/u.test(parent.type);
      // Without its only element it is the other branch, which `always` or `never` takes.
      const isBranch = elements.length === 1 && parent.type === "ConditionalExpression" &&
        [parent.consequent, parent.alternate].some((each) => textOf(each) === "[]");
      if (isPair || isBranch) return;
      for (const element of elements) if (element !== null) drop("drop-element", element);
    },
    ObjectExpression({ properties: [first, ...others] }) {
      for (const each of others) {
        // Where others are taken over, a type notices no property that is left out.
        if (each.type === "SpreadElement" || first?.type === "SpreadElement") {
          drop("drop-property", each);
        }
      }
      if (first?.type !== "SpreadElement") return;
      if (first.argument.type === "ConditionalExpression") drop("drop-property", first);
    },
    CallExpression(node) {
      const { callee } = node;
      if (callee.type !== "MemberExpression" || callee.property.type !== "Identifier") return;
      const other = METHODS[callee.property.name];
      if (other === undefined || callee.optional) return;
      if (other === "") remove("drop-method", node, [outer(callee.object.range)[1], node.range[1]]);
      else replace("method", callee.property, other);
    },
    MemberExpression(node) {
      const { object, property, computed, optional } = node;
      if (!optional || isIndexed(object) || isLeftOut(node)) return;
      const [end] = property.range;
      report("no-chain", [object.range[1], computed ? end - 1 : end], computed ? "" : ".");
    },
    FunctionDeclaration: returnAtOnce,
    ArrowFunctionExpression: returnAtOnce,
    FunctionExpression: returnAtOnce,
    Literal(node) {
      const { parent, value } = node;
      const isKey = parent.type === "Property" && parent.key.range[0] === node.range[0];
      if (isKey || (parent.type === "Property" && UNSEEN_KEYS.test(textOf(parent.key)))) return;
      if (typeof value === "boolean") {
        if (parent.type !== "BinaryExpression") replace("boolean", node, `${!value}`);
      } else if (typeof value === "number") {
        if (parent.type === "BinaryExpression" && /^(?:<<|>>|\*\*)/u.test(parent.operator)) return;
        // A small number counts something; a big one is a limit that no test meets exactly.
        replace("number", node, value < 32 ? `${value + 1}` : "0");
      } else if (typeof value === "string" && WORD.test(value)) {
        const shows = parent.type === "Property" || parent.type === "ReturnStatement" ||
          parent.type === "ArrowFunctionExpression" || parent.type === "ConditionalExpression";
        if (shows) replace("string", node, '""');
      }
    },
  };
}

type FunctionNode =
  | Of<"FunctionDeclaration">
  | Of<"ArrowFunctionExpression">
  | Of<"FunctionExpression">;

/** Whether a node is the whole condition of a statement or an expression. */
function isTest({ parent, range }: Of<"BinaryExpression"> | Of<"UnaryExpression">): boolean {
  return (parent.type === "IfStatement" || parent.type === "ConditionalExpression") &&
    parent.test.range[0] === range[0];
}

function isText({ type, ...node }: Node): boolean {
  return type === "TemplateLiteral" || ("value" in node && typeof node.value === "string");
}

function isIndexed(node: Node): boolean {
  return node.type === "MemberExpression" && node.computed;
}

function* ancestorsOf(node: Node): Generator<Node> {
  for (let at = node; at.type !== "Program" && "parent" in at; at = at.parent as Node) yield at;
}

/** Whether a statement may be what ends a loop. */
function isLooped(node: Node): boolean {
  return [...ancestorsOf(node)].some(({ type }) => /^(?:While|DoWhile|For)Statement$/u.test(type));
}

/** Whether a node is of an import, of a type, or of what an error says. */
function isLeftOut(node: Node): boolean {
  return [...ancestorsOf(node)].some((each) =>
    /^(?:Import|Throw|TS(?!AsE|SatisfiesE|NonNullE))/u.test(each.type) ||
    (each.type === "NewExpression" && each.callee.type === "Identifier" &&
      each.callee.name.endsWith("Error"))
  );
}

const plugin: Deno.lint.Plugin = { name: "mutate", rules: { mutants: { create: visitor } } };
export default plugin;
