import type { ReactNode } from 'react'
import { useId, useRef } from 'react'

type ViewTabsProps<Name extends string> = {
  /** Names the group for screen readers. */
  label: string
  tabs: Record<Name, string>
  chosen: Name
  onChoose: (tab: Name) => void
  /** Beside the tabs. */
  actions?: ReactNode
  children: ReactNode
}

const KEYS: Record<string, number> = { ArrowRight: 1, ArrowLeft: -1 }

/** Views of one thing, of which one is shown. Arrow keys move between them. */
export function ViewTabs<Name extends string>({ label, tabs, chosen, onChoose, actions, children }: ViewTabsProps<Name>) {
  const id = useId()
  const list = useRef<HTMLDivElement>(null)
  const names = Object.keys(tabs) as Name[]

  function move(step: number) {
    const next = (names.indexOf(chosen) + step + names.length) % names.length
    onChoose(names[next]!)
    list.current?.querySelectorAll<HTMLElement>('[role=tab]')[next]?.focus()
  }
  return (
    <div>
      <div className="flex flex-wrap items-center justify-between gap-x-4 border-line border-b">
        <div ref={list} role="tablist" aria-label={label} className="-mb-px flex gap-4 overflow-x-auto">
          {names.map((name) => (
            <button
              key={name}
              type="button"
              role="tab"
              id={`${id}-${name}`}
              aria-selected={name === chosen}
              aria-controls={`${id}-panel`}
              tabIndex={name === chosen ? 0 : -1}
              onClick={() => onChoose(name)}
              onKeyDown={({ key }) => KEYS[key] && move(KEYS[key])}
              className="flex h-9 shrink-0 items-center border-transparent border-b-2 font-medium text-muted text-ui hover:text-ink focus-visible:-outline-offset-2 aria-selected:border-accent aria-selected:text-ink pointer-coarse:h-11"
            >
              {tabs[name]}
            </button>
          ))}
        </div>
        {actions}
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a panel may have nothing else to focus, and scrolls */}
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${chosen}`} tabIndex={0} className="pt-3 outline-offset-4">
        {children}
      </div>
    </div>
  )
}
