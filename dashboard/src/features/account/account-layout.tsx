import type { ReactNode } from 'react'
import { Logo, TernShape } from '../../ui/page/logo.tsx'
import { PageTitle } from '../../ui/page/page.tsx'
import { ThemeToggle } from '../../ui/page/theme-toggle.tsx'

type AccountLayoutProps = { title: string; description?: ReactNode; children?: ReactNode; footer?: ReactNode }

/** The layout of the pages before and around a session. */
export function AccountLayout({ title, description, children, footer }: AccountLayoutProps) {
  return (
    <div className="grid min-h-dvh lg:grid-cols-[minmax(0,1fr)_minmax(0,1fr)]">
      <div className="flex flex-col bg-surface px-6 py-5 sm:px-10">
        <header className="flex items-center justify-between">
          <Logo />
          <ThemeToggle />
        </header>
        <main className="mx-auto flex w-full max-w-sm flex-1 flex-col justify-center py-12">
          <PageTitle>{title}</PageTitle>
          {description && <p className="mt-1 text-muted text-ui">{description}</p>}
          {children && <div className="mt-6">{children}</div>}
          {footer && <p className="mt-6 text-muted text-ui">{footer}</p>}
        </main>
      </div>
      <Horizon />
    </div>
  )
}

/** Decoration: the route of the arctic tern, which the product is named after. */
function Horizon() {
  return (
    <aside className="relative hidden overflow-hidden bg-linear-to-b from-[#07303b] to-[#0b6e82] text-white lg:block">
      <svg viewBox="0 0 800 900" preserveAspectRatio="xMidYMid slice" fill="none" aria-hidden="true" className="absolute inset-0 size-full">
        <g stroke="currentColor" strokeOpacity="0.14" strokeWidth="1.5">
          <circle cx="820" cy="980" r="300" />
          <circle cx="820" cy="980" r="430" />
          <circle cx="820" cy="980" r="570" />
          <circle cx="820" cy="980" r="720" />
          <circle cx="820" cy="980" r="880" />
        </g>
        <path
          d="M-20 596C150 540 330 420 532 262"
          stroke="currentColor"
          strokeOpacity="0.55"
          strokeWidth="2"
          strokeDasharray="2 12"
          strokeLinecap="round"
        />
        <g transform="translate(530 140) scale(2.7)">
          <TernShape />
        </g>
      </svg>
      <div className="absolute inset-x-0 bottom-0 p-12">
        <p className="font-semibold text-2xl leading-snug tracking-tight">Every message finds its way.</p>
        <p className="mt-2 max-w-md text-sm text-white/80 leading-relaxed">
          The arctic tern flies from pole to pole and back, every year. Sterna carries your email, on your own server.
        </p>
      </div>
    </aside>
  )
}
