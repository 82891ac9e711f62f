/**
 * ESLint rule: an error that an operator sees has a code of src/operator-errors.ts.
 *
 * Option: the arguments, as written, of the plain errors that nobody outside of the code can fix.
 */
export default {
  meta: { type: 'problem', schema: [{ type: 'array', items: { type: 'string' } }] },
  create (context) {
    const [invariants] = context.options
    return {
      "ThrowStatement > NewExpression[callee.name='Error']" (node) {
        const [message] = node.arguments
        if (message !== undefined && invariants.includes(context.sourceCode.getText(message))) return
        context.report({ node, message: 'Throw OperatorError of src/operator-errors.ts with a code. List an internal invariant in INVARIANTS of eslint.config.js.' })
      }
    }
  }
}
