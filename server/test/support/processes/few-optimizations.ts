/**
 * An option of V8: a function is optimized after about thirty times as many runs as usual. Most code of a test runs only a few times, and
 * optimizing it takes more CPU than it saves: a twentieth of the CPU of test processes, and an eighth of that of pages.
 */
export const FEW_OPTIMIZATIONS = '--interrupt-budget=2000000'
