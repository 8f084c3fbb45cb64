import { type ErrorComponentProps, Link } from '@tanstack/react-router'
import { Compass } from 'lucide-react'
import { buttonClass } from '../ui/form/button.tsx'
import { EmptyState } from '../ui/page/empty-state.tsx'
import { ErrorState } from '../ui/page/error-state.tsx'
import { PageTitle } from '../ui/page/page.tsx'

export function NotFoundPage() {
  return (
    <main className="mx-auto grid min-h-dvh max-w-lg place-content-center px-5">
      <div className="sr-only">
        <PageTitle>Not found</PageTitle>
      </div>
      <EmptyState
        icon={Compass}
        title="Page not found"
        action={
          <Link to="/app" className={buttonClass('primary')}>
            Open Sterna
          </Link>
        }
      >
        The page has moved, or the link is wrong.
      </EmptyState>
    </main>
  )
}

/** Shown when a page throws. After an update its old files may be gone from the server; a reload fetches the new ones. */
export function BrokenPage({ error }: ErrorComponentProps) {
  return <ErrorState error={error} retry={() => window.location.reload()} />
}
