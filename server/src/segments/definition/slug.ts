/** The part of event names that stands for a segment. Empty for a name without ASCII letters, digits and underscores. */
export const slugOf = (name: string) =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9_\s-]/g, '')
    .replace(/[\s-]+/g, '-')
    .replace(/^-|-$/g, '')

/**
 * Slugs for a new segment, best first. An empty or taken one gets the first 8 characters of the id. Those are its time in steps of 65 s,
 * so segments of one name that are created together need more of it.
 */
export function slugCandidates(name: string, id: string): string[] {
  const slug = slugOf(name)
  const longer = [8, 13, 36].map((length) => `${slug}-${id.slice(0, length)}`)
  return slug ? [slug, ...longer] : longer
}
