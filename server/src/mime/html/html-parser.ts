import { type Handler, Parser, type ParserOptions } from 'htmlparser2'

/** Elements nested deeper are treated as empty elements: their text and attributes are read, their nesting is ignored. */
export const MAX_ELEMENT_DEPTH = 200

/**
 * HTML parser in linear time. The library searches its stack of open elements for every closing tag, found or not, and shifts
 * the whole stack for every opening tag: 1,990 open elements and a million stray closing tags take four seconds. Here the stack
 * has at most 200 elements and is searched only for names that are open, so that each search pops what it found.
 */
export class HtmlParser extends Parser {
  readonly #state: State

  constructor(handler: Partial<Handler>, options: ParserOptions = {}) {
    const state: State = { phase: 'in-tag', depth: 0, open: new Map(), isEmpty: false, endsEmpty: false }
    super({ ...handler, ...countOpen(state, handler) }, options)
    this.#state = state
  }

  override onopentagname(start: number, end: number) {
    this.#state.phase = 'opening'
    super.onopentagname(start, end)
    this.#state.phase = 'in-tag'
  }

  override onclosetag(start: number, end: number) {
    this.#state.phase = 'closing'
    super.onclosetag(start, end)
    this.#state.phase = 'in-tag'
  }

  /** Called by the library before it pushes an element, at the end of its tag, and before it searches the element of a closing tag. */
  protected override isVoidElement(name: string) {
    const state = this.#state
    if (state.phase === 'opening') {
      state.isEmpty = state.depth >= MAX_ELEMENT_DEPTH || super.isVoidElement(name)
      return state.isEmpty
    }
    if (state.phase === 'in-tag') {
      // The name is empty for a form within a form, which the library ignores.
      state.endsEmpty = state.isEmpty && name !== ''
      return state.endsEmpty
    }
    state.isEmpty = !state.open.has(name)
    if (!state.isEmpty || name !== 'p') return state.isEmpty
    // A stray </p> is an empty paragraph, which the library opens next.
    state.phase = 'opening'
    return false
  }
}

type State = {
  phase: 'opening' | 'in-tag' | 'closing'
  depth: number
  /** Number of open elements by name. */
  open: Map<string, number>
  /** The current tag opens no element. */
  isEmpty: boolean
  /** The next closing event belongs to such a tag. */
  endsEmpty: boolean
}

function countOpen(state: State, { onopentagname, onclosetag }: Partial<Handler>): Partial<Handler> {
  const { open } = state
  return {
    onopentagname(name) {
      state.phase = 'in-tag'
      if (!state.isEmpty) {
        state.depth++
        open.set(name, (open.get(name) ?? 0) + 1)
      }
      onopentagname?.(name)
    },
    onclosetag(name, isImplied) {
      if (state.endsEmpty) state.endsEmpty = false
      else leave(name)
      onclosetag?.(name, isImplied)
    },
  }

  function leave(name: string) {
    const count = open.get(name)
    if (count === undefined) return
    state.depth--
    if (count === 1) open.delete(name)
    else open.set(name, count - 1)
  }
}
