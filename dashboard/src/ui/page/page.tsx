import { type ReactNode, useEffect, useRef } from 'react'
import { Skeleton } from './skeleton.tsx'
import { useIsSlow } from './use-is-slow.ts'

/** Lists use the full width; settings leave nothing empty beside the navigation on a screen of 1,440 px. */
const WIDTHS = { full: 'max-w-[1440px]', settings: 'max-w-6xl' }

type PageProps = {
  title: string
  /** Beside the title, such as the number of rows. */
  count?: ReactNode
  /** Link to the page above, shown before the title. */
  parent?: ReactNode
  description?: ReactNode
  /** At most one primary button. */
  actions?: ReactNode
  width?: keyof typeof WIDTHS
  loading?: boolean
  children?: ReactNode
}

export function Page({ title, count, parent, description, actions, width = 'settings', loading = false, children }: PageProps) {
  return (
    <>
      <PageHeader title={title} count={count} parent={parent} actions={actions} />
      <PageBody width={width}>
        {description && <p className="mb-6 max-w-2xl text-muted text-ui">{description}</p>}
        <div className="space-y-4" aria-busy={loading || undefined}>
          {loading ? <Loading /> : children}
        </div>
      </PageBody>
    </>
  )
}

/** The content below the header of a page, and of an editor that is a form. */
export const PageBody = ({ width = 'settings', children }: Pick<PageProps, 'width' | 'children'>) => (
  <div className={`w-full px-4 py-6 sm:px-6 lg:px-8 ${WIDTHS[width]}`}>{children}</div>
)

/**
 * 56 px, stays at the top of the page on large screens. On a phone, actions that leave too little room for the title are below it; the
 * name of a record, which may be long, is wrapped beside them.
 */
export function PageHeader({ title, count, parent, actions }: Pick<PageProps, 'title' | 'count' | 'parent' | 'actions'>) {
  return (
    <header className="z-20 flex min-h-14 flex-wrap items-center gap-x-3 gap-y-2 border-line border-b bg-surface px-4 py-2.5 sm:px-6 lg:sticky lg:top-0 lg:px-8 lg:py-0">
      <div className={`flex min-w-0 flex-wrap items-baseline gap-x-2 sm:flex-1 sm:flex-nowrap ${parent ? 'grow basis-56' : 'flex-auto'}`}>
        {parent && (
          <>
            <span className="shrink-0 text-muted text-ui">{parent}</span>
            <span className="text-muted" aria-hidden="true">
              /
            </span>
          </>
        )}
        <PageTitle>{title}</PageTitle>
        {count !== undefined && <span className="shrink-0 text-muted text-ui">{count}</span>}
      </div>
      {actions && <div className="flex shrink-0 items-center gap-2">{actions}</div>}
    </header>
  )
}

let isFirstPage = true

/**
 * Sets the title of the tab and takes the focus, so that a screen reader announces the new page. Skipped on the first
 * page: the browser announces it, and the keyboard should start at its top.
 */
export function PageTitle({ children }: { children: string }) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${children} · Sterna`
    if (!isFirstPage) heading.current?.focus({ preventScroll: true })
    isFirstPage = false
  }, [children])
  return (
    <h1 ref={heading} tabIndex={-1} className="wrap-break-word min-w-0 font-semibold text-title outline-none sm:truncate">
      {children}
    </h1>
  )
}

function Loading() {
  const isSlow = useIsSlow()
  return (
    <>
      <p className="sr-only" role="status">
        Loading…
      </p>
      {isSlow && (
        <>
          <Skeleton className="h-32 w-full" />
          <Skeleton className="h-64 w-full" />
        </>
      )}
    </>
  )
}
