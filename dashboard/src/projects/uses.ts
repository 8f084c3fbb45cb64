type Uses = { campaignCount?: number; workflowCount?: number; segmentCount?: number }

/** The uses of a template or a segment: `2 campaigns, 1 workflow`. */
export function listUses({ campaignCount = 0, workflowCount = 0, segmentCount = 0 }: Uses): string {
  const parts = [
    [campaignCount, 'campaign'],
    [workflowCount, 'workflow'],
    [segmentCount, 'segment'],
  ] as const
  return parts.flatMap(([count, noun]) => (count > 0 ? [`${count} ${noun}${count === 1 ? '' : 's'}`] : [])).join(', ') || 'Nothing'
}
