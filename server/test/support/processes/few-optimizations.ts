/**
 * Options for V8. Most code of a test runs a few times: to compile it to optimized code takes more CPU than it saves, a twentieth of all
 * tests in Node and an eighth in pages. V8 does that from thirty times as many runs on.
 */
export const FEW_OPTIMIZATIONS = '--interrupt-budget=2000000'
