import { SternaError } from '@sterna/sdk'
import { CloudOff } from 'lucide-react'
import { Button } from '../form/button.tsx'
import { explain } from '../notice/explain.ts'
import { CopyText } from '../text/copy-field.tsx'

type ErrorStateProps = { error: unknown; retry: () => unknown; title?: string }

export function ErrorState({ error, retry, title = 'Could not load this page' }: ErrorStateProps) {
  const requestId = error instanceof SternaError ? error.requestId : undefined
  return (
    <div role="alert" className="mx-auto flex max-w-md flex-col items-center px-6 py-12 text-center">
      <span className="flex size-9 items-center justify-center rounded-full bg-danger-soft text-danger">
        <CloudOff className="size-4" aria-hidden="true" />
      </span>
      <h2 className="mt-3 font-semibold text-sm">{title}</h2>
      <p className="mt-1 text-muted text-ui">{explain(error)}</p>
      {requestId && (
        <p className="mt-2 text-muted text-xs">
          Request <CopyText value={requestId} label="Request id" mono />
        </p>
      )}
      <Button className="mt-4" onClick={() => retry()}>
        Try again
      </Button>
    </div>
  )
}
