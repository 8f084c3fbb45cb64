import { X } from 'lucide-react'
import { Toast } from 'radix-ui'
import { useSyncExternalStore } from 'react'

type ToastOptions = {
  /** Such as `{ label: 'Undo', run }`. A toast with an action is shown longer. */
  action?: { label: string; run: () => unknown }
  /** An error stays until it is closed. */
  tone?: 'plain' | 'danger'
}
type Message = ToastOptions & { id: number; text: string }

const SHOWN_MS = 4_000
const ACTION_MS = 10_000
const MAX_SHOWN = 3

// Outside React, so that any code can show a toast.
let messages: Message[] = []
let lastId = 0
const listeners = new Set<() => void>()

function change(next: Message[]) {
  messages = next
  for (const listener of listeners) listener()
}

export function toast(text: string, options: ToastOptions = {}) {
  change([...messages.slice(1 - MAX_SHOWN), { id: ++lastId, text, ...options }])
}

function subscribe(listener: () => void) {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function Toaster() {
  const shown = useSyncExternalStore(subscribe, () => messages)
  return (
    <Toast.Provider swipeDirection="down">
      {shown.map((message) => (
        <ToastMessage key={message.id} {...message} onClose={() => change(messages.filter(({ id }) => id !== message.id))} />
      ))}
      <Toast.Viewport className="fixed inset-x-4 bottom-4 z-50 flex flex-col gap-2 outline-none sm:left-auto sm:w-96" />
    </Toast.Provider>
  )
}

function ToastMessage({ text, action, tone = 'plain', onClose }: Message & { onClose: () => void }) {
  const duration = tone === 'danger' ? Number.POSITIVE_INFINITY : action ? ACTION_MS : SHOWN_MS
  return (
    <Toast.Root
      duration={duration}
      onOpenChange={(open) => !open && onClose()}
      // Also while a dialog keeps the pointer from everything outside of it.
      className={`pointer-events-auto flex items-center gap-2 rounded-lg py-1.5 pr-1.5 pl-4 text-ui shadow-float motion-safe:animate-rise ${tone === 'danger' ? 'border border-danger/40 bg-danger-soft text-danger' : 'bg-ink text-canvas'}`}
    >
      <Toast.Title className="min-w-0 flex-1 wrap-break-word py-1">{text}</Toast.Title>
      {action && (
        <Toast.Action
          altText={action.label}
          onClick={() => action.run()}
          className="h-8 shrink-0 rounded-md px-2.5 font-medium underline-offset-4 hover:underline"
        >
          {action.label}
        </Toast.Action>
      )}
      <Toast.Close
        aria-label="Dismiss"
        className="flex size-8 shrink-0 items-center justify-center rounded-md opacity-70 hover:opacity-100"
      >
        <X className="size-4" />
      </Toast.Close>
    </Toast.Root>
  )
}
