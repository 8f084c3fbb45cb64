import type { LucideIcon } from 'lucide-react'
import type { ReactNode } from 'react'

type EmptyStateProps = { icon: LucideIcon; title: string; children: ReactNode; action?: ReactNode }

export function EmptyState({ icon: Icon, title, children, action }: EmptyStateProps) {
  return (
    <div className="flex flex-col items-center rounded-lg border border-edge/50 border-dashed px-6 py-10 text-center">
      <span className="flex size-9 items-center justify-center rounded-full bg-accent-soft text-accent">
        <Icon className="size-4" aria-hidden="true" />
      </span>
      <h2 className="mt-3 font-semibold text-sm">{title}</h2>
      <p className="mt-1 max-w-md text-muted text-ui">{children}</p>
      {action && <div className="mt-4">{action}</div>}
    </div>
  )
}
