import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { parseSearch } from './search.ts'

type PathLinkProps = {
  /** A path of the dashboard, which may have a query. */ to: string
  className?: string
  title?: string
  'aria-label'?: string
  children?: ReactNode
}

/** A link whose page is known only when it is shown, such as that of an activity. */
export function PathLink({ to, ...props }: PathLinkProps) {
  const [pathname = '', query] = to.split('?')
  // The search of "some route" cannot be typed.
  return <Link to={pathname} search={(query ? parseSearch(query) : {}) as never} {...props} />
}
