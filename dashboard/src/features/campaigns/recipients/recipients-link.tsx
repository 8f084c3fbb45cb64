import type { Campaign } from '@sterna/sdk'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useProject } from '../../../projects/current.ts'
import type { Activity, Outcome, Reason } from '../campaign/words.ts'

type RecipientsLinkProps = {
  campaign: Pick<Campaign, 'id'>
  /** Which recipients; all of them without it. */
  search: { outcome?: Outcome; reason?: Reason; activity?: Activity; link?: string }
  /** For a number that stands alone. */
  label?: string
  className?: string
  /** The whole row is the link, with this tooltip. The row must be `relative`. */
  ofRow?: string
  children: ReactNode
}

/** Above the link of a row. */
const IN_ROW = 'relative z-10 rounded-sm hover:underline hover:underline-offset-4'
const OF_ROW =
  'outline-none after:absolute after:inset-0 focus-visible:after:outline-2 focus-visible:after:-outline-offset-2 focus-visible:after:outline-accent'

/** A number of recipients opens them. */
export function RecipientsLink({ campaign, search, label, className = 'hover:text-accent', ofRow, children }: RecipientsLinkProps) {
  const project = useProject()
  return (
    <Link
      to="/app/p/$projectId/campaigns/$campaignId/recipients"
      params={{ projectId: project.id, campaignId: campaign.id }}
      search={search}
      title={ofRow}
      className={`${ofRow === undefined ? IN_ROW : OF_ROW} ${className}`}
      {...(label && { 'aria-label': label })}
    >
      {children}
    </Link>
  )
}
