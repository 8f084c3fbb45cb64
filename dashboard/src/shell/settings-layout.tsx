import { Link, Outlet, useRouterState } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { useProject } from '../projects/current.ts'
import { SETTINGS_PAGES } from './navigation-entries.ts'

/** The pages of the settings, with a navigation of their own. */
export function SettingsLayout() {
  const { id: projectId } = useProject()
  // The link of the page is marked once the page is shown, not when it was asked for.
  const shown = useRouterState({ select: ({ resolvedLocation }) => resolvedLocation?.pathname })
  const list = useRef<HTMLUListElement>(null)
  // On a phone the list is wider than the screen.
  // biome-ignore lint/correctness/useExhaustiveDependencies: scrolls when another page is opened
  useEffect(() => {
    const current = list.current?.querySelector<HTMLElement>('[aria-current=page]')
    if (current) list.current!.scrollLeft = current.offsetLeft - (list.current!.clientWidth - current.offsetWidth) / 2
  }, [shown])
  return (
    <div className="lg:grid lg:min-h-dvh lg:grid-cols-[168px_minmax(0,1fr)]">
      <nav aria-label="Settings" className="border-line border-b bg-surface px-2 lg:border-r lg:border-b-0 lg:bg-transparent lg:py-3">
        <ul ref={list} className="flex gap-1 overflow-x-auto lg:sticky lg:top-3 lg:flex-col lg:gap-px">
          {SETTINGS_PAGES.map(({ to, label }) => (
            <li key={to}>
              <Link
                to={to}
                params={{ projectId }}
                activeOptions={{ exact: true, includeSearch: false }}
                className="flex h-10 items-center whitespace-nowrap rounded-md px-2.5 font-medium text-muted text-ui hover:text-ink aria-[current=page]:text-accent lg:h-8 lg:aria-[current=page]:bg-accent-soft lg:hover:bg-sunken pointer-coarse:h-11"
              >
                {label}
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      <div className="min-w-0">
        <Outlet />
      </div>
    </div>
  )
}
