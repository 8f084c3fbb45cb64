/** Longest start of a line, in characters. Deeper lists and quotes are not indented further, which bounds the length of the text. */
const MAX_PREFIX = 16
const RULE = '-'.repeat(32)

type Container = { prefix: string; firstPrefix: string | undefined }
type Link = { target: string; words: string }

/** Words with single spaces between them, and whether there was space before and after them. */
export type Words = { text: string; isAfterSpace: boolean; isBeforeSpace: boolean }

export function collapseSpaces(words: string): Words {
  const collapsed = words.replace(/\s{2,}|[^\S ]/g, ' ')
  return { text: collapsed.trim(), isAfterSpace: collapsed.startsWith(' '), isBeforeSpace: collapsed.endsWith(' ') }
}

/**
 * Lays out words, blocks, lists, quotes and links as lines of plain text. Linear in its input: text that is already written is never
 * read again, because each read of a string under construction copies all of it. A class, because creating a dozen closures
 * for each email takes a tenth of the time of a short one.
 */
export class TextLayout {
  #text = ''
  /** Length of the words of the author, without targets of links. */
  #wordLength = 0
  // Between the last words and the next ones, if there are any.
  #breaks = 0
  #isSpaced = false
  /** Start of every line: `> ` for each quote and the indentation of each list item around it. */
  #prefix = ''
  /** Start of the next line while it has list markers to show. */
  #firstPrefix: string | undefined
  /** Start of blank lines before the next words: the containers around both the last words and the next ones. */
  #commonPrefix = ''
  readonly #containers: Container[] = []
  #preformattedDepth = 0
  #isPreformattedEmpty = true
  /** Spaces in preformatted text, written only if words follow on the same line. */
  #trailingSpaces = ''
  #link: Link | undefined

  write(words: string) {
    if (this.#preformattedDepth) this.#writePreformatted(words)
    else this.writeWords(collapseSpaces(words))
  }

  /** Text that is not preformatted. Splitting it into several calls makes no difference. */
  writeWords({ text, isAfterSpace, isBeforeSpace }: Words) {
    if (isAfterSpace) this.#isSpaced = true
    if (!text) return
    this.#wordLength += text.length
    this.#append(text)
    this.#isSpaced = isBeforeSpace
  }

  /** Separates the next words from the last ones at least by a space. */
  space() {
    this.#isSpaced = true
  }

  /** Starts a new line, after a blank one if `count` is 2. Adjacent blocks share their line breaks. */
  breakLines(count: number) {
    if (count > this.#breaks) this.#breaks = count
  }

  /** A line break of the author. More than one blank line is kept only in preformatted text. */
  breakLine() {
    if (this.#preformattedDepth) this.#breakPreformatted()
    else this.#breaks = Math.min(2, this.#breaks + 1)
  }

  writeRule() {
    this.#breaks = 2
    this.#append(RULE)
    this.#breaks = 2
  }

  /** Starts the first line of the following content with `marker`, and its other lines with `indent`. */
  openContainer(marker: string, indent: string) {
    this.#containers.push({ prefix: this.#prefix, firstPrefix: this.#firstPrefix })
    this.#firstPrefix = (this.#firstPrefix ?? this.#prefix) + marker
    if (this.#prefix.length + indent.length <= MAX_PREFIX) this.#prefix += indent
  }

  closeContainer() {
    const around = this.#containers.pop()
    if (!around) return
    this.#prefix = around.prefix
    // The marker of an empty container is dropped; those of the containers around it are still to be shown.
    if (this.#firstPrefix !== undefined) this.#firstPrefix = around.firstPrefix
    if (around.prefix.length < this.#commonPrefix.length) this.#commonPrefix = around.prefix
  }

  openPreformatted() {
    this.#preformattedDepth++
    this.#isPreformattedEmpty = true
    this.#isSpaced = false
  }

  closePreformatted() {
    this.#preformattedDepth--
    this.#trailingSpaces = ''
    this.#isSpaced = false
    this.#breaks = 2
  }

  openLink(target: string) {
    this.closeLink()
    this.#link = { target: target.trim().replace(/\s+/g, ' '), words: '' }
  }

  /** Shows the target of the open link, unless its words do. */
  closeLink() {
    if (!this.#link) return
    const { target, words } = this.#link
    this.#link = undefined
    if (!target || target.startsWith('#') || words === target) return
    if (words) this.#text += ` (${target})`
    else {
      this.write(`(${target})`)
      this.#wordLength -= target.length + 2
    }
  }

  get wordLength() {
    return this.#wordLength
  }

  /** The text so far, with a line feed at its end. */
  toString() {
    return `${this.#text}\n`
  }

  #append(words: string) {
    if (!this.#text) this.#text = this.#firstPrefix ?? this.#prefix
    else if (this.#breaks) this.#text += this.#lineBreaks() + (this.#firstPrefix ?? this.#prefix)
    else if (this.#isSpaced) this.#text += ' '
    this.#text += words
    const link = this.#link
    // Without the space before the first words: only the length of the words themselves may end the comparison.
    if (link && link.words.length <= link.target.length)
      link.words = link.words ? `${link.words}${this.#isSpaced ? ' ' : ''}${words}` : words.trimStart()
    this.#breaks = 0
    this.#firstPrefix = undefined
    this.#commonPrefix = this.#prefix
  }

  #lineBreaks() {
    if (this.#breaks === 1) return '\n'
    return `\n${`${this.#commonPrefix.trimEnd()}\n`.repeat(this.#breaks - 1)}`
  }

  #writePreformatted(words: string) {
    const lines = words
      .replace(/\r\n?/g, '\n')
      .replace(/[^\S \t\n]/g, ' ')
      .split('\n')
    for (const [index, line] of lines.entries()) {
      if (index) this.#breakPreformatted()
      const trimmed = line.trimEnd()
      if (trimmed) {
        this.#wordLength += trimmed.length
        this.#append(this.#trailingSpaces + trimmed)
        this.#isPreformattedEmpty = false
        this.#trailingSpaces = ''
      }
      this.#trailingSpaces += line.slice(trimmed.length)
    }
  }

  /** Blank lines at the start of preformatted text are dropped, like those at its end. */
  #breakPreformatted() {
    this.#trailingSpaces = ''
    if (!this.#isPreformattedEmpty) this.#breaks++
  }
}
