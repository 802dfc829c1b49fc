// Prints the part of TypeScript that packages/core/src/program is written in as Lua 5.1: numbers, booleans, lists of numbers,
// records, functions, if, and for from one number to another. Anything else is an error with its line.
// Only what the roots need is printed. A number that has a name is printed as the number, an index from 1.
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import ts from 'typescript';

const K = ts.SyntaxKind;
const OPERATORS = { '===': '==', '!==': '~=', '&&': 'and', '||': 'or', '**': '^' };
const SAME = new Set(['+', '-', '*', '/', '%', '<', '<=', '>', '>=']);
const TRUE_OR_FALSE = new Set(['===', '!==', '&&', '||', '<', '<=', '>', '>=']);
const RESERVED = new Set(
  'and break do else elseif end for function if in local nil not or repeat return then until while'.split(' '),
);

/**
 * The functions that are reachable from `roots`, such as `decide.decide`; `Math.floor` is `math_floor` in them. `family` is the file whose functions
 * `part.f` stands for; without it they are looked up.
 */
export function printLua(files, roots, family) {
  const modules = new Map(files.map((file) => [basename(file, '.ts'), readModule(file)]));
  const printed = new Map();
  const order = [];

  const print = (module, name) => {
    const id = `${module}.${name}`;
    if (printed.has(id)) return;
    printed.set(id, true);
    const node = modules.get(module)?.functions.get(name);
    if (node === undefined) throw new Error(`${module}.ts has no function ${name}`);
    const text = printFunction(modules, module, node, print, family);
    order.push(text);
  };
  for (const root of roots) print(...root.split('.'));
  return order.join('\n');
}

/** The functions, numbers and imports of a file. */
function readModule(path) {
  const source = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true);
  const module = { source, functions: new Map(), numbers: new Map(), imports: new Map() };
  for (const node of source.statements) {
    if (ts.isFunctionDeclaration(node)) module.functions.set(node.name.text, node);
    else if (ts.isImportDeclaration(node)) {
      for (const { name, propertyName } of node.importClause?.namedBindings?.elements ?? []) {
        module.imports.set(name.text, [basename(node.moduleSpecifier.text, '.ts'), (propertyName ?? name).text]);
      }
    } else if (ts.isVariableStatement(node)) {
      for (const { name, initializer } of node.declarationList.declarations) {
        if (ts.isNumericLiteral(initializer)) module.numbers.set(name.text, Number(initializer.text));
      }
    }
  }
  return module;
}

function printFunction(modules, moduleName, root, print, family) {
  const { statement, locals } = printerOf(modules, moduleName, print, family);
  const parameters = root.parameters.map(({ name }) => name.text);
  for (const parameter of parameters) locals.add(parameter);
  const names = parameters.map((name) => (RESERVED.has(name) ? `${name}_` : name)).join(', ');
  const comment = ts.getJSDocCommentsAndTags(root)[0]?.comment;
  const why = typeof comment === 'string' ? comment.replace(/^/gm, '-- ') + '\n' : '';
  const body = root.body.statements.flatMap(statement).map((line) => `  ${line}\n`);
  return `${why}local function ${moduleName}_${root.name.text}(${names})\n${body.join('')}end\n`;
}

/** Prints what stands in a function of a module. `values` is what stands for its parameters where it is inlined. */
function printerOf(modules, moduleName, print, family, values = new Map()) {
  const module = modules.get(moduleName);
  const locals = new Set(values.keys());

  const fail = (node) => {
    const { line } = module.source.getLineAndCharacterOfPosition(node.getStart());
    throw new Error(`${moduleName}.ts:${line + 1}: ${K[node.kind]} has no form in Lua: ${node.getText()}`);
  };
  const nameOf = (node) => values.get(node.text) ?? (RESERVED.has(node.text) ? `${node.text}_` : node.text);
  /** The number behind a name, here or in the module it is imported from. */
  const numberOf = (node) => {
    if (ts.isNumericLiteral(node)) return Number(node.text);
    if (!ts.isIdentifier(node) || locals.has(node.text)) return undefined;
    const [from, name] = module.imports.get(node.text) ?? [moduleName, node.text];
    return modules.get(from)?.numbers.get(name);
  };
  const indexOf = (node) => {
    const number = numberOf(node);
    if (number !== undefined) return String(number + 1);
    if (ts.isBinaryExpression(node)) {
      const [right, operator] = [numberOf(node.right), node.operatorToken.getText()];
      const offset = (operator === '+' ? right : -right) + 1;
      if (offset === 0) return expression(node.left);
      if (offset > 0 && operator === '+') return `${expression(node.left)} + ${offset}`;
    }
    return `${expression(node)} + 1`;
  };
  const isBoolean = (node) =>
    (ts.isBinaryExpression(node) && TRUE_OR_FALSE.has(node.operatorToken.getText())) ||
    (ts.isParenthesizedExpression(node) && isBoolean(node.expression)) ||
    (ts.isPrefixUnaryExpression(node) && node.operator === K.ExclamationToken) ||
    node.kind === K.TrueKeyword ||
    node.kind === K.FalseKeyword;

  /** The module and name of the function that is called; undefined if only its record knows it. */
  function target(node) {
    if (ts.isIdentifier(node)) return module.imports.get(node.text) ?? [moduleName, node.text];
    if (!ts.isPropertyAccessExpression(node)) return fail(node);
    return family !== undefined && /(^|\.)f$/.test(node.expression.getText()) ? [family, node.name.text] : undefined;
  }

  function call(node) {
    const known = target(node.expression);
    const [from, name] = known ?? [];
    const args = node.arguments.map(expression);
    const called = modules.get(from)?.functions.get(name);
    const [only] = called?.body.statements ?? [];
    // A function costs time at each call of the script. One that only returns an expression of names is written out.
    const isShort = called?.body.statements.length === 1 && ts.isReturnStatement(only) && !only.getText().includes('(');
    if (isShort && args.every((arg) => /^-?[\w.]+(\[[\w +]+\])?$/.test(arg))) {
      const given = new Map(called.parameters.map((parameter, i) => [parameter.name.text, args[i] ?? 'nil']));
      const text = printerOf(modules, from, print, family, given).expression(only.expression);
      return /^[\w.]+(\[\w+\])*$|^\{\}$/.test(text) ? text : `(${text})`;
    }
    if (known !== undefined) print(from, name);
    const math = node.expression.expression?.getText() === 'Math';
    const callee = known ? `${from}_${name}` : math ? `math_${node.expression.name.text}` : expression(node.expression);
    return `${callee}(${args.join(', ')})`;
  }

  function expression(node) {
    const number = numberOf(node);
    if (number !== undefined) return String(number);
    if (ts.isIdentifier(node)) return nameOf(node);
    if (node.kind === K.TrueKeyword || node.kind === K.FalseKeyword) return node.getText();
    if (ts.isParenthesizedExpression(node)) return `(${expression(node.expression)})`;
    if (ts.isNonNullExpression(node) || ts.isAsExpression(node)) return expression(node.expression);
    if (ts.isPrefixUnaryExpression(node)) {
      if (node.operator === K.MinusToken) return `-${expression(node.operand)}`;
      return node.operator === K.ExclamationToken ? `not ${expression(node.operand)}` : fail(node);
    }
    if (ts.isConditionalExpression(node)) {
      const [condition, yes, no] = [node.condition, node.whenTrue, node.whenFalse].map(expression);
      // `and` and `or` choose, unless the first choice is false.
      if (isBoolean(node.whenTrue)) return `((${condition}) and (${yes}) or not (${condition}) and (${no}))`;
      return `(${/ (and|or) /.test(condition) ? `(${condition})` : condition} and ${yes} or ${no})`;
    }
    if (ts.isBinaryExpression(node)) {
      const operator = node.operatorToken.getText();
      if (!SAME.has(operator) && !(operator in OPERATORS)) return fail(node);
      return `${expression(node.left)} ${OPERATORS[operator] ?? operator} ${expression(node.right)}`;
    }
    if (ts.isElementAccessExpression(node))
      return `${expression(node.expression)}[${indexOf(node.argumentExpression)}]`;
    if (ts.isPropertyAccessExpression(node)) {
      return node.name.text === 'length'
        ? `#${expression(node.expression)}`
        : `${expression(node.expression)}.${node.name.text}`;
    }
    if (ts.isArrayLiteralExpression(node))
      return node.elements.length === 0 ? '{}' : `{ ${node.elements.map(expression).join(', ')} }`;
    if (ts.isCallExpression(node)) return call(node);
    return fail(node);
  }

  function effect(node) {
    if (ts.isBinaryExpression(node)) {
      const [left, operator, right] = [expression(node.left), node.operatorToken.getText(), expression(node.right)];
      if (operator === '=') return [`${left} = ${right}`];
      if (operator === '+=' || operator === '-=')
        return [`${left} = ${left} ${operator[0]} ${ts.isBinaryExpression(node.right) ? `(${right})` : right}`];
    }
    if (ts.isCallExpression(node)) {
      if (node.expression.name?.text !== 'push') return writtenOut(node) ?? [expression(node)];
      const list = expression(node.expression.expression);
      return node.arguments.map((argument) => `${list}[#${list} + 1] = ${expression(argument)}`);
    }
    return fail(node);
  }

  /** What a function does that returns nothing, in place of its call; undefined for others. */
  function writtenOut(node) {
    const [from, name] = target(node.expression) ?? [];
    const called = modules.get(from)?.functions.get(name);
    const args = node.arguments.map(expression);
    if (called?.type?.kind !== K.VoidKeyword || !args.every((arg) => /^[\w.]+$/.test(arg))) return undefined;
    const given = new Map(called.parameters.map((parameter, i) => [parameter.name.text, args[i]]));
    const lines = called.body.statements.flatMap(printerOf(modules, from, print, family, given).statement);
    const isBlock = called.body.statements.some(ts.isVariableStatement);
    return isBlock ? ['do', ...lines.map((line) => `  ${line}`), 'end'] : lines;
  }

  function statement(node) {
    if (ts.isVariableStatement(node)) {
      return node.declarationList.declarations.map(({ name, initializer }) => {
        locals.add(name.text);
        return `local ${nameOf(name)} = ${expression(initializer)}`;
      });
    }
    if (ts.isReturnStatement(node)) return [`return ${expression(node.expression)}`];
    if (ts.isExpressionStatement(node)) return effect(node.expression);
    if (ts.isBlock(node)) return node.statements.flatMap(statement);
    if (ts.isIfStatement(node)) return [...branches(node, 'if'), 'end'];
    if (ts.isForStatement(node)) return count(node);
    return fail(node);
  }

  function branches(node, word) {
    const lines = [`${word} ${expression(node.expression)} then`, ...indented(node.thenStatement)];
    const otherwise = node.elseStatement;
    if (otherwise === undefined) return lines;
    if (ts.isIfStatement(otherwise)) return [...lines, ...branches(otherwise, 'elseif')];
    return [...lines, 'else', ...indented(otherwise)];
  }

  /** A loop from one number to another, both of which are known before it. */
  function count(node) {
    const [variable] = node.initializer.declarations;
    locals.add(variable.name.text);
    const { left, operatorToken, right } = node.condition;
    if (left.getText() !== variable.name.text) return fail(node);
    const step = ts.isPostfixUnaryExpression(node.incrementor)
      ? node.incrementor.operator === K.PlusPlusToken
        ? '1'
        : '-1'
      : `${node.incrementor.operatorToken.getText() === '-=' ? '-' : ''}${expression(node.incrementor.right)}`;
    const end = { '<': `${expression(right)} - 1`, '>=': expression(right) }[operatorToken.getText()] ?? fail(node);
    const by = step === '1' ? '' : `, ${step}`;
    return [
      `for ${nameOf(variable.name)} = ${expression(variable.initializer)}, ${end}${by} do`,
      ...indented(node.statement),
      'end',
    ];
  }

  const indented = (node) => statement(node).map((line) => `  ${line}`);

  return { expression, statement, locals };
}
