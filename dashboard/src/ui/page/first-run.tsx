import type { LucideIcon } from 'lucide-react'
import type { ReactNode } from 'react'
import { CodeBlock } from '../text/copy-field.tsx'

type FirstRunProps = { icon: LucideIcon; title: string; action?: ReactNode; call?: { title: string; code: string }; children: ReactNode }

/** A list that has never had a row: what belongs here, one button, and the API call that does the same. */
export function FirstRun({ icon: Icon, title, action, call, children }: FirstRunProps) {
  return (
    <div className="rounded-lg border border-line bg-surface p-6">
      <Icon className="size-5 text-accent" aria-hidden="true" />
      <h2 className="mt-2 font-semibold text-base">{title}</h2>
      <p className="mt-1 max-w-xl text-muted text-ui">{children}</p>
      {action && <div className="mt-4">{action}</div>}
      {call && (
        <div className="mt-6">
          <CodeBlock title={call.title} label="Example call" code={call.code} />
        </div>
      )}
    </div>
  )
}
