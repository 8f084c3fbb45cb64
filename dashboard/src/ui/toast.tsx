import { X } from 'lucide-react'
import { Toast } from 'radix-ui'
import { useSyncExternalStore } from 'react'

type Message = { id: number; text: string }

// Outside React, so that any code can show a toast.
let messages: Message[] = []
let lastId = 0
const listeners = new Set<() => void>()

function change(next: Message[]) {
  messages = next
  for (const listener of listeners) listener()
}

export function toast(text: string) {
  change([...messages.slice(-2), { id: ++lastId, text }])
}

function subscribe(listener: () => void) {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function Toaster() {
  const shown = useSyncExternalStore(subscribe, () => messages)
  return (
    <Toast.Provider duration={4000} swipeDirection="down">
      {shown.map(({ id, text }) => (
        <Toast.Root
          key={id}
          onOpenChange={(open) => !open && change(messages.filter((message) => message.id !== id))}
          className="flex items-center gap-3 rounded-lg bg-ink py-2 pr-2 pl-4 text-canvas text-sm shadow-float motion-safe:animate-rise"
        >
          <Toast.Title className="min-w-0 flex-1 wrap-break-word">{text}</Toast.Title>
          <Toast.Close
            aria-label="Dismiss"
            className="flex size-8 shrink-0 items-center justify-center rounded-md opacity-70 hover:opacity-100"
          >
            <X className="size-4" />
          </Toast.Close>
        </Toast.Root>
      ))}
      <Toast.Viewport className="fixed inset-x-4 bottom-4 z-50 flex flex-col gap-2 outline-none sm:left-auto sm:w-96" />
    </Toast.Provider>
  )
}
