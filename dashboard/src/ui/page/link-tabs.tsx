import { Link } from '@tanstack/react-router'

/** Pages that belong together, such as contacts and their fields. `label` names the group. */
export function LinkTabs({ label, tabs }: { label: string; tabs: { path: string; label: string }[] }) {
  return (
    <nav aria-label={label} className="border-line border-b bg-surface px-4 sm:px-6 lg:px-8">
      <ul className="-mb-px flex gap-4">
        {tabs.map((tab) => (
          <li key={tab.path}>
            <Link
              to={tab.path}
              activeOptions={{ exact: true, includeSearch: false }}
              className="flex h-9 items-center border-transparent border-b-2 font-medium text-muted text-ui hover:text-ink aria-[current=page]:border-accent aria-[current=page]:text-ink pointer-coarse:h-11"
            >
              {tab.label}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  )
}
