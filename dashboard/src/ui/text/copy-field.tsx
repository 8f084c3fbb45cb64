import { Copy, Eye, EyeOff } from 'lucide-react'
import { useState } from 'react'
import { IconButton } from '../form/button.tsx'
import { copy } from './copy.ts'

/** A value to copy. A secret stays masked until revealed. */
export function CopyField({ label, value, secret = false }: { label: string; value: string; secret?: boolean }) {
  const [revealed, setRevealed] = useState(!secret)
  return (
    <div className="flex items-center gap-1 rounded-md border border-line bg-sunken py-0.5 pr-0.5 pl-3">
      <input
        readOnly
        aria-label={label}
        value={revealed ? value : `${value.slice(0, 3)}${'•'.repeat(24)}`}
        onFocus={(event) => event.target.select()}
        className="min-w-0 flex-1 truncate rounded-sm font-mono text-code"
      />
      {secret && (
        <IconButton
          label={revealed ? `Hide ${label.toLowerCase()}` : `Reveal ${label.toLowerCase()}`}
          onClick={() => setRevealed(!revealed)}
        >
          {revealed ? <EyeOff /> : <Eye />}
        </IconButton>
      )}
      <IconButton label={`Copy ${label.toLowerCase()}`} onClick={() => copy(value, label)}>
        <Copy />
      </IconButton>
    </div>
  )
}

/** An id or an address that copies with one click. Shown as text: it may come from a contact. */
export function CopyText({ value, label, mono = false }: { value: string; label: string; mono?: boolean }) {
  return (
    <button
      type="button"
      title={`Copy ${label.toLowerCase()}`}
      aria-label={`Copy ${label.toLowerCase()} ${value}`}
      onClick={() => copy(value, label)}
      className={`group/copy inline-flex min-h-6 min-w-0 max-w-full items-center gap-1.5 rounded-sm text-left hover:text-accent ${mono ? 'font-mono text-code' : ''}`}
    >
      <span className="truncate">{value}</span>
      <Copy
        className="size-3.5 shrink-0 opacity-0 transition-opacity group-hover/copy:opacity-100 group-focus-visible/copy:opacity-100"
        aria-hidden="true"
      />
    </button>
  )
}

/** `title` says what the code is for, or where to paste it. */
export function CodeBlock({ title, label, code }: { title: string; label: string; code: string }) {
  return (
    <div className="min-w-0 rounded-lg border border-line bg-sunken">
      <div className="flex items-center justify-between border-line border-b py-0.5 pr-0.5 pl-3">
        <span className="text-muted text-xs">{title}</span>
        <IconButton label={`Copy ${label.toLowerCase()}`} onClick={() => copy(code, label)}>
          <Copy />
        </IconButton>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard */}
      <pre className="overflow-x-auto p-3 font-mono text-code" tabIndex={0}>
        <code>{code}</code>
      </pre>
    </div>
  )
}
