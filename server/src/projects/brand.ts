import { z } from 'zod'

/** `#rgb` or `#rrggbb`: printed into style attributes, so nothing else is taken. */
export const Color = z.string().regex(/^#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/, 'Must be a colour such as #0b6e82.')

/** Names of font families. Printed into style attributes: no quotes, no punctuation but commas and hyphens. */
const Font = z
  .string()
  .max(200)
  .regex(/^[a-zA-Z0-9][a-zA-Z0-9 ,-]*$/, 'Must be names of fonts, separated by commas.')

/** A link of an email: http, https, mailto, tel, or one that a template expression gives. An empty one is not set yet. */
export const LinkTarget = z
  .string()
  .trim()
  .max(2_000)
  .regex(/^(?:$|https?:\/\/|mailto:|tel:|\{\{|\{%)/i, 'Must be a link that begins with http://, https://, mailto:, tel: or a variable.')

/** A picture. An empty one is not chosen yet. */
export const ImageSource = z
  .string()
  .trim()
  .max(2_000)
  .regex(/^(?:$|https?:\/\/|\{\{|\{%)/i, 'Must be the address of a picture that begins with http:// or https://, or a variable.')

export const Brand = z
  .object({
    logoUrl: ImageSource.nullish(),
    colors: z
      .object({
        primary: Color.nullish().describe('Buttons and links.'),
        background: Color.nullish().describe('Around the email.'),
        text: Color.nullish(),
      })
      .nullish(),
    font: Font.nullish().describe('Families in order of preference, such as `Georgia, serif`.'),
    radius: z.int().min(0).max(32).nullish().describe('Rounded corners of buttons and pictures, in pixels.'),
    footer: z
      .object({
        name: z.string().trim().max(200).nullish(),
        address: z.string().trim().max(500).nullish().describe('Postal address; line breaks are kept.'),
        links: z
          .array(z.object({ label: z.string().trim().min(1).max(100), href: LinkTarget }))
          .max(10)
          .nullish(),
      })
      .nullish(),
  })
  .meta({ id: 'Brand', description: 'The look of visual emails: logo, colours, font, corners and footer.' })

export type Brand = z.output<typeof Brand>
