import { Copy, Eye, EyeOff } from 'lucide-react'
import { useState } from 'react'
import { IconButton } from './button.tsx'
import { copy } from './copy.ts'

/** A value to copy. A secret stays masked until revealed. */
export function CopyField({ label, value, secret = false }: { label: string; value: string; secret?: boolean }) {
  const [revealed, setRevealed] = useState(!secret)
  return (
    <div className="flex items-center gap-1 rounded-lg border border-line bg-sunken py-1 pr-1 pl-3">
      <input
        readOnly
        aria-label={label}
        value={revealed ? value : `${value.slice(0, 3)}${'•'.repeat(24)}`}
        onFocus={(event) => event.target.select()}
        className="min-w-0 flex-1 truncate rounded-sm font-mono text-sm"
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

/** `title` says what the code is for, or where to paste it. */
export function CodeBlock({ title, label, code }: { title: string; label: string; code: string }) {
  return (
    <div className="rounded-lg border border-line bg-sunken">
      <div className="flex items-center justify-between border-line border-b py-1 pr-1 pl-4">
        <span className="text-muted text-xs">{title}</span>
        <IconButton label={`Copy ${label.toLowerCase()}`} onClick={() => copy(code, label)}>
          <Copy />
        </IconButton>
      </div>
      <pre className="overflow-x-auto p-4 font-mono text-sm leading-relaxed">
        <code>{code}</code>
      </pre>
    </div>
  )
}
