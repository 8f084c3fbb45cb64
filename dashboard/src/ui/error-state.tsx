import { SternaError } from '@sterna/sdk'
import { CloudOff } from 'lucide-react'
import { Button } from './button.tsx'
import { explain } from './explain.ts'

export function ErrorState({ error, retry }: { error: unknown; retry: () => unknown }) {
  const requestId = error instanceof SternaError ? error.requestId : undefined
  return (
    <div role="alert" className="mx-auto flex max-w-md flex-col items-center px-6 py-16 text-center">
      <span className="flex size-11 items-center justify-center rounded-full bg-danger-soft text-danger">
        <CloudOff className="size-5" aria-hidden="true" />
      </span>
      <h2 className="mt-4 font-semibold">Could not load this page</h2>
      <p className="mt-1 text-muted text-sm leading-relaxed">{explain(error)}</p>
      {requestId && <p className="mt-3 font-mono text-muted text-xs">Request {requestId}</p>}
      <Button className="mt-6" onClick={() => retry()}>
        Try again
      </Button>
    </div>
  )
}
