import type { Campaign } from '@sterna/sdk'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useProject } from '../../projects/current.ts'
import type { Activity, Outcome } from './words.ts'

type RecipientsLinkProps = {
  campaign: Pick<Campaign, 'id'>
  /** Which recipients; all of them without it. */
  search: { outcome?: Outcome; activity?: Activity; link?: string }
  /** For a number that stands alone. */
  label?: string
  className?: string
  children: ReactNode
}

/** A number of recipients opens them. */
export function RecipientsLink({ campaign, search, label, className = 'hover:text-accent', children }: RecipientsLinkProps) {
  const project = useProject()
  return (
    <Link
      to="/app/p/$projectId/campaigns/$campaignId/recipients"
      params={{ projectId: project.id, campaignId: campaign.id }}
      search={search}
      // Above the link of a row.
      className={`relative z-10 rounded-sm hover:underline hover:underline-offset-4 ${className}`}
      {...(label && { 'aria-label': label })}
    >
      {children}
    </Link>
  )
}
