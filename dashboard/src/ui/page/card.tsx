import type { ReactNode } from 'react'

type CardProps = {
  title?: ReactNode
  description?: ReactNode
  actions?: ReactNode
  tone?: 'plain' | 'danger'
  /** Without padding around the content, for tables. */
  flush?: boolean
  children?: ReactNode
}

export function Card({ title, description, actions, tone = 'plain', flush = false, children }: CardProps) {
  return (
    <section className={`rounded-lg border bg-surface ${tone === 'danger' ? 'border-danger/40' : 'border-line'}`}>
      {(title || actions) && (
        <header className="flex flex-wrap items-start justify-between gap-x-6 gap-y-3 p-4">
          <div className="min-w-0 flex-1 basis-40">
            {title && <h2 className="font-semibold text-base leading-6">{title}</h2>}
            {description && <p className="mt-0.5 text-muted text-ui">{description}</p>}
          </div>
          {actions}
        </header>
      )}
      {children && <div className={flush ? 'border-line border-t first:border-t-0' : 'p-4 not-first:pt-0'}>{children}</div>}
    </section>
  )
}
