/** Longest source of a subject or body, in characters. */
export const MAX_SOURCE = 2_000_000
/** Tags and outputs of one template. Parsing costs more than linearly: 5,000 take 0.1 s, 50,000 take 6 s. */
export const MAX_TAGS = 5_000
/** Blocks in blocks, and parentheses in parentheses. Thousands would overflow the stack of the parser. */
export const MAX_BLOCK_DEPTH = 100
/** Characters of one tag or output. */
export const MAX_TAG_LENGTH = 10_000
export const MAX_FILTERS = 50

/** Characters of a rendered body. */
export const MAX_OUTPUT = 5_000_000
export const MAX_SUBJECT = 998

/** What may be read and rendered on the main thread: a few milliseconds the first time, then about one. */
export const MAX_SOURCE_HERE = 100_000
export const MAX_VARIABLES_HERE = 200
export const MAX_OUTPUT_HERE = 256_000
/** Characters that filters, escaping and printing may read there for one recipient, and for all of one call. */
export const MAX_PROCESSED_HERE = 256_000
export const MAX_PROCESSED_PER_CALL = 16 * MAX_PROCESSED_HERE

/** The engine looks at the clock itself, between tags; the thread is killed when that was not enough. */
export const ENGINE_RENDER_MS = 200
export const RENDER_MS = 250
/** Converting HTML to text reads 1 MB at most: 0.2 s for the worst input on an idle machine. */
export const TEXT_MS = 2_000
/** After this a thread returns the results it has, and another project gets its turn. */
export const TURN_MS = 100
/** For a free thread. */
export const WAIT_MS = 30_000
/** For parsing, which is bounded by the limits above, on a busy machine. */
export const COMPILE_MS = 10_000
/** What the engine counts as allocated: items of lists and ranges, characters of texts. As numbers 40 MB of the heap. */
export const ENGINE_MEMORY = 5_000_000
export const THREAD_HEAP_MB = 128
