import type { ReactNode } from 'react'

type CardProps = { title?: ReactNode; description?: ReactNode; actions?: ReactNode; tone?: 'plain' | 'danger'; children?: ReactNode }

export function Card({ title, description, actions, tone = 'plain', children }: CardProps) {
  return (
    <section className={`rounded-xl border bg-surface p-5 shadow-card sm:p-6 ${tone === 'danger' ? 'border-danger/40' : 'border-line'}`}>
      {(title || actions) && (
        <header className="flex flex-wrap items-start justify-between gap-x-6 gap-y-4">
          <div className="min-w-0 flex-1 basis-64">
            {title && <h2 className="font-semibold text-base">{title}</h2>}
            {description && <p className="mt-1 text-muted text-sm leading-relaxed">{description}</p>}
          </div>
          {actions}
        </header>
      )}
      {children && <div className="not-first:mt-5">{children}</div>}
    </section>
  )
}
