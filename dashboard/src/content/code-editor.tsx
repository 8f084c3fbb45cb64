import {
  autocompletion,
  type CompletionContext,
  type CompletionResult,
  completionKeymap,
  snippetCompletion,
} from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { cssLanguage } from '@codemirror/lang-css'
import { bracketMatching, HighlightStyle, LanguageSupport, LRLanguage, syntaxHighlighting } from '@codemirror/language'
import { type Diagnostic, lintGutter, setDiagnostics } from '@codemirror/lint'
import { EditorState } from '@codemirror/state'
import {
  Decoration,
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightSpecialChars,
  keymap,
  lineNumbers,
  MatchDecorator,
  ViewPlugin,
} from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { configureNesting, parser } from '@lezer/html'
import { type Ref, useEffect, useImperativeHandle, useRef } from 'react'
import { FILTERS, placeOf, STANDARD_VARIABLES, TAGS, type Word } from './completion.ts'
import { lineSeparatorOf } from './values/content-values.ts'

export type CodeIssue = { severity: 'error' | 'warning' | 'info'; message: string; line?: number; blockId?: string }
export type CodeEditorHandle = { goToLine: (line: number) => void }

type CodeEditorProps = {
  label: string
  value: string
  onChange: (value: string) => void
  /** Words to complete inside `{{ … }}`, before the standard variables. */
  variables: Word[]
  issues: CodeIssue[]
  ref?: Ref<CodeEditorHandle>
}

/** HTML with tags of the template language. Writes back exactly what was typed, and keeps the line separators of the text. */
export default function CodeEditor({ label, value, onChange, variables, issues, ref }: CodeEditorProps) {
  const parent = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView>(null)
  /** The text that the editor has, as the owner knows it. */
  const shown = useRef(value)
  const latest = useRef({ onChange, variables })
  latest.current = { onChange, variables }

  // biome-ignore lint/correctness/useExhaustiveDependencies: made once; later values are dispatched below
  useEffect(() => {
    const changed = EditorView.updateListener.of((update) => {
      if (!update.docChanged) return
      shown.current = update.state.sliceDoc()
      latest.current.onChange(shown.current)
    })
    const complete = autocompletion({
      override: [(context) => completeWords(context, latest.current.variables)],
      icons: false,
      // The words are at hand. While the editor waits to ask for them, it ignores a click on the list that is still shown.
      activateOnTypingDelay: 0,
    })
    const named = EditorView.contentAttributes.of({ 'aria-label': label, spellcheck: 'false', tabindex: '0' })
    const made = new EditorView({
      parent: parent.current!,
      state: EditorState.create({
        doc: value,
        extensions: [EXTENSIONS, EditorState.lineSeparator.of(lineSeparatorOf(value)), complete, named, changed],
      }),
    })
    view.current = made
    return () => made.destroy()
  }, [])

  useEffect(() => {
    if (!view.current || value === shown.current) return
    shown.current = value
    view.current.dispatch({ changes: { from: 0, to: view.current.state.doc.length, insert: view.current.state.toText(value) } })
  }, [value])

  useEffect(() => {
    if (view.current) view.current.dispatch(setDiagnostics(view.current.state, diagnosticsOf(view.current.state, issues)))
  }, [issues])

  useImperativeHandle(ref, () => ({
    goToLine(number) {
      if (!view.current || number > view.current.state.doc.lines) return
      const line = view.current.state.doc.line(number)
      view.current.dispatch({ selection: { anchor: line.from }, effects: EditorView.scrollIntoView(line.from, { y: 'center' }) })
      view.current.focus()
    },
  }))

  return <div ref={parent} className="h-full min-h-0 text-code" />
}

/** Issues without a line are shown below the editor only. So are issues whose line was deleted since. */
function diagnosticsOf(state: EditorState, issues: CodeIssue[]): Diagnostic[] {
  return issues.flatMap(({ line: number, severity, message }) => {
    if (number === undefined || number < 1 || number > state.doc.lines) return []
    const line = state.doc.line(number)
    const indent = line.text.length - line.text.trimStart().length
    return [{ from: line.from + indent, to: line.to, severity, message }]
  })
}

const OPENING = /(?:\{\{|\{%|\|)\s?$/

function completeWords(context: CompletionContext, variables: Word[]): CompletionResult | null {
  const before = context.state.sliceDoc(Math.max(0, context.pos - 500), context.pos)
  const place = placeOf(before)
  if (!place || !(place.typed || context.explicit || OPENING.test(before))) return null
  const from = context.pos - place.typed.length
  if (place.kind === 'tag') {
    return { from, options: TAGS.map(({ label, detail, apply = label }) => snippetCompletion(apply, { label, detail })), validFor: /^\w*$/ }
  }
  const words = place.kind === 'filter' ? FILTERS : [...variables, ...STANDARD_VARIABLES]
  return { from, options: words, validFor: /^[\w.]*$/ }
}

/** `style` elements and attributes hold CSS. Mails have no scripts, so those are not read as JavaScript. */
const html = LRLanguage.define({
  name: 'html',
  parser: parser.configure({
    wrap: configureNesting(
      [{ tag: 'style', parser: cssLanguage.parser }],
      [{ name: 'style', parser: cssLanguage.parser.configure({ top: 'Styles' }) }],
    ),
  }),
})

/** Tags of the template language, anywhere in the text: a grammar of HTML does not know them. */
const liquid = new MatchDecorator({ regexp: /\{\{.*?\}\}|\{%.*?%\}/g, decoration: Decoration.mark({ class: 'cm-liquid' }) })
const liquidMarks = ViewPlugin.define(
  (view) => ({
    decorations: liquid.createDeco(view),
    update(update) {
      this.decorations = liquid.updateDeco(update, this.decorations)
    },
  }),
  { decorations: (plugin) => plugin.decorations },
)

const colours = HighlightStyle.define([
  { tag: tags.tagName, color: 'var(--series-1)' },
  { tag: [tags.attributeName, tags.propertyName], color: 'var(--series-3)' },
  { tag: [tags.attributeValue, tags.string, tags.number, tags.atom, tags.unit, tags.color], color: 'var(--series-2)' },
  { tag: [tags.comment, tags.documentMeta, tags.processingInstruction], color: 'var(--muted)' },
  { tag: [tags.angleBracket, tags.punctuation], color: 'var(--muted)' },
])

const theme = EditorView.theme({
  '&': { height: '100%', color: 'var(--ink)', backgroundColor: 'var(--surface)' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '-2px' },
  '.cm-scroller': { fontFamily: 'var(--font-mono)', lineHeight: '1.25rem', overflow: 'auto' },
  '.cm-content': { caretColor: 'var(--ink)', padding: '8px 0' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-gutters': { backgroundColor: 'var(--surface)', color: 'var(--muted)', border: 'none' },
  '.cm-activeLine': { backgroundColor: 'color-mix(in srgb, var(--sunken) 60%, transparent)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'color-mix(in srgb, var(--accent) 30%, transparent)',
  },
  '.cm-content ::selection': { backgroundColor: 'transparent', color: 'inherit' },
  '.cm-liquid, .cm-liquid span': { color: 'var(--series-5)', fontWeight: '500' },
  '.cm-tooltip': {
    backgroundColor: 'var(--surface)',
    color: 'var(--ink)',
    border: '1px solid var(--line)',
    borderRadius: '8px',
    boxShadow: 'var(--shadow-float)',
  },
  '.cm-tooltip-autocomplete ul li': { padding: '4px 8px' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]': { backgroundColor: 'var(--accent-soft)', color: 'var(--ink)' },
  '.cm-completionDetail': { color: 'var(--muted)', fontStyle: 'normal', marginLeft: '12px' },
})

/** Shortcuts of the page that the editor would take for itself. */
const OF_THE_PAGE = new Set(['Mod-/', 'Mod-Enter'])

// Tab is not bound: it leaves the editor, as everywhere on the page.
const EXTENSIONS = [
  lineNumbers(),
  lintGutter(),
  history(),
  drawSelection(),
  highlightSpecialChars(),
  highlightActiveLine(),
  bracketMatching(),
  EditorView.lineWrapping,
  new LanguageSupport(html),
  syntaxHighlighting(colours),
  liquidMarks,
  keymap.of([...completionKeymap, ...historyKeymap, ...defaultKeymap.filter(({ key }) => !OF_THE_PAGE.has(key ?? ''))]),
  theme,
]
