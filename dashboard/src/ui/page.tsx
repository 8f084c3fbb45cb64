import { type ReactNode, useEffect, useRef } from 'react'
import { Skeleton } from './skeleton.tsx'

type PageProps = { title: string; description?: ReactNode; actions?: ReactNode; loading?: boolean; children?: ReactNode }

export function Page({ title, description, actions, loading = false, children }: PageProps) {
  return (
    <div className="mx-auto w-full max-w-4xl">
      <header className="mb-8 flex flex-wrap items-start justify-between gap-x-6 gap-y-4">
        <div className="min-w-0 flex-1 basis-72">
          <PageTitle>{title}</PageTitle>
          {description && <p className="mt-2 max-w-2xl text-muted leading-relaxed">{description}</p>}
        </div>
        {actions}
      </header>
      <div className="space-y-6" aria-busy={loading || undefined}>
        {loading ? <Loading /> : children}
      </div>
    </div>
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
    <h1 ref={heading} tabIndex={-1} className="font-semibold text-2xl outline-none sm:text-3xl">
      {children}
    </h1>
  )
}

function Loading() {
  return (
    <>
      <p className="sr-only" role="status">
        Loading…
      </p>
      <Skeleton className="h-40 w-full rounded-xl" />
      <Skeleton className="h-64 w-full rounded-xl" />
    </>
  )
}
