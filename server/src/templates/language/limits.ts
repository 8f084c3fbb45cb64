import { MB } from '../../lib/text/units.ts'

/** Longest source of a subject or body, in characters. */
export const MAX_SOURCE = 2_000_000
/** Tags and outputs of one template. Parsing is worse than linear: 5,000 take 0.1 s, 50,000 take 6 s. */
export const MAX_TAGS = 5_000
/** Nesting depth of blocks and of parentheses. Thousands would overflow the stack of the parser. */
export const MAX_BLOCK_DEPTH = 100
/** Characters of one tag or output. */
export const MAX_TAG_LENGTH = 10_000
export const MAX_FILTERS = 50

/** Characters of a rendered body. */
export const MAX_OUTPUT = 5_000_000
export const MAX_SUBJECT = 998
/** Characters of a preview text, as written and as rendered. Inboxes show 150 at most. */
export const MAX_PREVIEW_TEXT = 500

/** Limits of the fast path, which runs on the main thread: a few milliseconds the first time, then about one. */
export const MAX_FAST_SOURCE = 200_000
export const MAX_FAST_VARIABLES = 200
export const MAX_FAST_TAGS = 200
export const MAX_FAST_OUTPUT = 256_000
/** Characters that filters, escaping and printing may read there, per recipient and per call. */
export const MAX_FAST_PROCESSED = 256_000
export const MAX_FAST_PROCESSED_PER_CALL = 16 * MAX_FAST_PROCESSED

/** CPU time per recipient. The engine checks its limit between tags only; the thread is killed when that does not suffice. */
export const ENGINE_RENDER_MS = 200
export const RENDER_MS = 250
/** Converting HTML to text reads 1 MB at most: 0.2 s for the worst input on an idle machine. */
export const TEXT_MS = 2_000
/** Turn of a project: then a thread returns the results so far, and another project is next. */
export const TURN_MS = 100
/** Longest wait for a free thread. */
export const WAIT_MS = 30_000
/** Time limit of parsing, on a busy machine: parsing is bounded by the limits above. */
export const COMPILE_MS = 10_000
/** Allocations as the engine counts them: items of lists and ranges, characters of strings. As numbers they take 40 MB of heap. */
export const ENGINE_MEMORY = 5_000_000
/** Input of a filter, or a value to be printed, with all that is nested in it: characters, and `ITEM_SIZE` for each item of a list. */
export const MAX_INPUT = 1_000_000
/** Sorting takes 110 bytes for each item. */
export const ITEM_SIZE = 3
/** Grouping takes 360 bytes for each item. */
export const GROUPED_ITEM_SIZE = 10
/** Heap in use, with up to 60 MB for cached templates. Checked between steps, of which none takes more than 80 MB. */
export const MAX_HEAP_USED = 192 * MB
/** Allocations from this size on, as the engine counts them, are preceded by a check of the heap. */
export const CHECKED_ALLOCATION = 10_000
/**
 * A backstop that the limits above keep out of reach. A thread that runs out of memory may take the whole process with it: V8 aborts if the
 * allocation after the limit is a large one, such as the next size of a growing list.
 */
export const THREAD_HEAP_MB = 384
/** Characters of the emails that a thread returns at once. */
export const MAX_TURN_OUTPUT = 2 * MAX_OUTPUT
