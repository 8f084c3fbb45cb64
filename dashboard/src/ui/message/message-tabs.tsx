import { Images, Moon, Smartphone } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { Fact, Facts } from '../dialog/peek-panel.tsx'
import { Button } from '../form/button.tsx'
import { ViewTabs } from '../page/view-tabs.tsx'
import { MessageFrame } from './message-frame.tsx'

type MessageTabsProps<Name extends string> = {
  label: string
  tabs: Record<Name, string>
  chosen: Name
  onChoose: (tab: Name) => void
  /** The tab that shows the message as a mail program does. */
  rendered: Name
  /** Undefined if there is nothing to render. */
  frame: { title: string; url: string } | undefined
  /** The content of the other tabs. */
  children: ReactNode
}

/** A message, rendered and in its parts. */
export function MessageTabs<Name extends string>(props: MessageTabsProps<Name>) {
  const { label, tabs, chosen, onChoose, rendered, frame, children } = props
  const [images, setImages] = useState(false)
  const [phone, setPhone] = useState(false)
  const [dark, setDark] = useState(false)
  const isRendered = chosen === rendered && frame !== undefined
  const actions = isRendered && (
    <span className="flex gap-1">
      <Button size="sm" variant="quiet" aria-pressed={images} onClick={() => setImages(!images)}>
        <Images aria-hidden="true" />
        {images ? 'Hide remote images' : 'Show remote images'}
      </Button>
      <Button size="sm" variant="quiet" aria-pressed={phone} className={PRESSED} onClick={() => setPhone(!phone)}>
        <Smartphone aria-hidden="true" />
        <span className="max-sm:sr-only">Phone</span>
      </Button>
      <Button size="sm" variant="quiet" aria-pressed={dark} className={PRESSED} onClick={() => setDark(!dark)}>
        <Moon aria-hidden="true" />
        <span className="max-sm:sr-only">Dark</span>
      </Button>
    </span>
  )
  return (
    <ViewTabs label={label} tabs={tabs} chosen={chosen} onChoose={onChoose} actions={actions}>
      {isRendered ? <MessageFrame {...frame} images={images} phone={phone} dark={dark} /> : children}
    </ViewTabs>
  )
}

const PRESSED = 'aria-pressed:bg-accent-soft aria-pressed:text-ink'

export function MessageHeaders({ headers }: { headers: { name: string; value: string }[] }) {
  return (
    <Facts>
      {headers.map(({ name, value }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a header may occur twice, and the list never changes
        <Fact key={index} label={name}>
          <span className="wrap-break-word font-mono text-code">{value}</span>
        </Fact>
      ))}
    </Facts>
  )
}

/** The placeholder for a part that this message does not have. */
export function NoPart({ children }: { children: string }) {
  return <p className="py-6 text-muted text-ui">{children}</p>
}
